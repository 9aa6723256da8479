import * as z from 'zod';
import {
  Argument,
  BuiltInServerName,
  Environment,
  GroupName,
  Port,
  PortOrAny,
  WorkloadName,
} from './names.ts';
import { LearningMode } from './network.ts';
import { PermissionProfile } from './permission-profile.ts';
import { AuthzConfig, TokenExchangeConfig } from './authorization.ts';
import { AuditConfig, IgnoreConfig, TelemetryConfig } from './observation.ts';
import { RegistryHeader, RegistryVariable } from './registry.ts';
import { Risk } from './risk.ts';
import { StoredResources } from './resources.ts';
import { ToolPinningMode } from './tool-pins.ts';
import { ProxyMode, Sessions, Transport } from './workload.ts';

/** The version that we write, and the only one that there is. */
export const runConfigVersion = 'v0.1.0';

const text = z.string().optional();
const texts = z.array(z.string()).nullish();
const flag = z.boolean().optional();

/** Sections that later parts of the product act on. Keys of other versions pass through untouched. */
const sections = {
  // The case of these names is ignored when they are read: the original writes Issuer, and documents issuer.
  oidc_config: z.looseObject({
    issuer: text,
    audience: text,
    jwksurl: text,
    introspectionURL: text,
    clientID: text,
    clientSecret: z
      .string()
      .optional()
      .meta({ description: 'A reference to a secret, as NAME,target=oidc_secret.' }),
    cacertPath: text,
    authTokenFile: text,
    resourceURL: text,
    allowPrivateIP: flag,
    insecureAllowHTTP: flag,
    scopes: texts,
    toolScopes: z.record(z.string(), z.array(z.string())).nullish(),
  }),
  authz_config: AuthzConfig,
  audit_config: AuditConfig,
  telemetry_config: TelemetryConfig,
  ignore_config: IgnoreConfig,
  remote_auth_config: z.looseObject({
    issuer: text,
    authorize_url: text,
    token_url: text,
    client_id: text,
    client_secret: z.string().optional().meta({ description: 'A reference to a secret, never the secret.' }),
    client_secret_file: text,
    scopes: texts,
    use_pkce: flag,
    skip_browser: flag,
    callback_port: PortOrAny.optional(),
    timeout: z
      .union([z.string(), z.int()])
      .optional()
      .meta({ description: 'Such as 5m; a number counts nanoseconds.' }),
    oauth_params: z.record(z.string(), z.string()).nullish(),
    headers: z.array(RegistryHeader).nullish(),
    env_vars: z.array(RegistryVariable).nullish(),
  }),
};

const ToolOverride = z.object({ name: text, description: text });

/**
 * Everything needed to run a workload again, as it is stored and exported. Keys of later versions and of other
 * programs pass through untouched.
 */
export const RunConfig = z
  .looseObject({
    schema_version: z.literal(runConfigVersion),
    name: WorkloadName,
    base_name: WorkloadName,
    container_name: z.string().min(1),
    image: z.string().optional().meta({ description: 'The image or package to run, pinned to its version.' }),
    instead_of_image: z.string().optional().meta({
      description:
        'The image that was requested, if the package in image runs because there is no container engine.',
    }),
    remote_url: z.string().optional(),
    built_in: BuiltInServerName.optional().meta({
      description: 'The server that runs inside the daemon, without a process or a container.',
    }),
    remote_auth_config: sections.remote_auth_config.nullish(),
    registry_hosts: z.array(z.string()).optional().meta({
      description:
        'The hosts that a registry entry named. ToolHive does not connect to them at private addresses.',
    }),
    cmd_args: z.array(Argument).nullish(),
    transport: Transport,
    proxy_mode: ProxyMode.optional(),
    host: z.string().default('127.0.0.1'),
    insecure_no_auth: z
      .boolean()
      .optional()
      .meta({ description: 'Other machines may use the workload without authentication.' }),
    port: Port.meta({ description: 'The port of the proxy; the same after every restart.' }),
    target_port: PortOrAny.optional(),
    target_host: z.string().optional(),
    permission_profile_name_or_path: z.string().optional(),
    permission_profile: PermissionProfile.nullish(),
    isolate_network: z.boolean().optional(),
    accepted_risks: z.array(Risk).nullish().meta({
      description: 'As in a request to create a workload. It is never stored or exported.',
    }),
    learning: LearningMode.optional().meta({
      description: 'Present in learning mode. A run config that is imported does not begin it.',
    }),
    env_vars: Environment.nullish(),
    env_file_dir: z.string().optional(),
    secrets: z.array(z.string()).nullish().meta({ description: 'References, as NAME,target=VARIABLE.' }),
    volumes: z.array(z.string()).nullish(),
    python_with: texts,
    python_version: text,
    allow_scripts: texts,
    ephemeral: z
      .boolean()
      .optional()
      .meta({ description: 'The home directory of the server is deleted whenever the server stops.' }),
    resources: StoredResources.nullish().meta({
      description: 'What the server may use of the machine; the defaults apply to what is absent.',
    }),
    container_labels: z.record(z.string(), z.string()).nullish(),
    group: GroupName.optional(),
    debug: z.boolean().optional(),
    oidc_config: sections.oidc_config.nullish(),
    authz_config: sections.authz_config.nullish(),
    authz_config_path: z.string().optional().meta({
      description: 'A file with authorization policies on the machine of the daemon, read at each start.',
    }),
    token_exchange_config: TokenExchangeConfig.nullish(),
    audit_config: sections.audit_config.nullish(),
    audit_config_path: z.string().optional(),
    telemetry_config: sections.telemetry_config.nullish(),
    sessions: Sessions.optional(),
    tools_filter: z.array(z.string()).nullish(),
    tools_override: z.record(z.string(), ToolOverride).nullish(),
    tool_pinning: ToolPinningMode.optional(),
    ignore_config: sections.ignore_config.nullish(),
    middleware_configs: z
      .array(z.looseObject({ type: z.string(), parameters: z.looseObject({}).nullish() }))
      .nullish(),
    trust_proxy_headers: z.boolean().optional(),
    thv_ca_bundle: z.string().optional(),
    jwks_auth_token_file: z.string().optional(),
    k8s_pod_template_patch: z.string().optional(),
    runtime: z
      .string()
      .optional()
      .meta({ description: 'The runtime that it was made for: docker or process.' }),
  })
  .meta({
    id: 'RunConfig',
    description: 'Everything needed to run a workload again.',
    examples: [
      {
        schema_version: runConfigVersion,
        name: 'everything',
        base_name: 'everything',
        container_name: 'everything',
        image: 'npx://@modelcontextprotocol/server-everything@2026.7.4',
        transport: 'stdio',
        proxy_mode: 'streamable-http',
        host: '127.0.0.1',
        port: 18347,
        permission_profile: {},
        group: 'default',
      },
    ],
  });
export type RunConfig = z.infer<typeof RunConfig>;
