import * as z from 'zod';
import {
  Argument,
  BuiltInServerName,
  Environment,
  GroupName,
  LocalPorts,
  PublishedPorts,
  Port,
  PortOrAny,
  WorkloadName,
  sessionKinds,
  WebOrigins,
} from './names.ts';
import { HeaderForward } from './header-forward.ts';
import { LearnedMode, LearningMode } from './network.ts';
import { PermissionProfile } from './permission-profile.ts';
import { PrereleaseMode } from './prerelease.ts';
import { ImageVerification } from './provenance.ts';
import { AuthzConfig, TokenExchangeConfig } from './authorization.ts';
import { AuditConfig, IgnoreConfig, TelemetryConfig } from './observation.ts';
import { RegistryHeader, RegistryVariable } from './registry.ts';
import { Risk } from './risk.ts';
import { StoredResources } from './resources.ts';
import { ToolPinningMode } from './tool-pins.ts';
import { ProxyMode, Transport } from './workload.ts';
import type { Sessions } from './workload.ts';

/** The only version. */
export const runConfigVersion = 'v0.1.0';

const text = (description: string) => z.string().optional().meta({ description });
const texts = (description: string) => z.array(z.string()).nullish().meta({ description });
const flag = (description: string) => z.boolean().optional().meta({ description });

/** The authentication settings. Unknown keys of other versions are preserved. */
const sections = {
  // Readers ignore the case of these names, because the Go original writes Issuer and documents issuer.
  oidc_config: z.looseObject({
    issuer: text('The URL of the OpenID provider.'),
    audience: text('The audience that every token must have.'),
    jwksurl: text('The URL of the provider’s signing keys.'),
    introspectionURL: text('The URL for token introspection (RFC 7662).'),
    clientID: text('The client ID for token introspection.'),
    clientSecret: z
      .string()
      .optional()
      .meta({ description: 'A reference to a secret, as NAME,target=oidc_secret.' }),
    cacertPath: text('A file with CA certificates to trust for the provider.'),
    authTokenFile: text('A file with the bearer token for the signing keys.'),
    resourceURL: text('The URL of the workload in the protected resource metadata (RFC 9728).'),
    allowPrivateIP: flag('Allow private addresses of the provider.'),
    insecureAllowHTTP: flag('Allow plain http to the provider.'),
    scopes: texts('The scopes that every token must have.'),
    toolScopes: z
      .record(z.string(), z.array(z.string()))
      .nullish()
      .meta({ description: 'More scopes for individual tools.' }),
  }),
  authz_config: AuthzConfig,
  audit_config: AuditConfig,
  telemetry_config: TelemetryConfig,
  ignore_config: IgnoreConfig,
  remote_auth_config: z.looseObject({
    issuer: text('The URL of the authorization server.'),
    authorize_url: text('The authorization endpoint.'),
    token_url: text('The token endpoint.'),
    client_id: text('The OAuth client ID. Without one, ToolHive registers a client.'),
    client_secret: z.string().optional().meta({ description: 'A reference to a secret, never the secret.' }),
    client_secret_file: text('A file with the client secret.'),
    bearer_token: z
      .string()
      .nullish()
      .meta({ description: 'A reference to a secret with a token for every request, instead of a sign-in.' }),
    scopes: texts('The scopes to request.'),
    use_pkce: flag('Use PKCE.'),
    skip_browser: flag('Print the sign-in URL instead of opening a browser.'),
    callback_port: PortOrAny.optional().meta({
      description: 'The port for the redirect after signing in. 0 chooses a free port.',
    }),
    timeout: z
      .union([z.string(), z.int()])
      .optional()
      .meta({ description: 'A duration such as 5m, or a number of nanoseconds.' }),
    oauth_params: z
      .record(z.string(), z.string())
      .nullish()
      .meta({ description: 'More parameters for the authorization request.' }),
    resource: text('The resource indicator to request a token for, or none. Not imported.'),
    headers: z.array(RegistryHeader).nullish().meta({ description: 'HTTP headers for the remote server.' }),
    env_vars: z
      .array(RegistryVariable)
      .nullish()
      .meta({ description: 'The environment variables in the registry entry.' }),
  }),
};

const ToolOverride = z.object({
  name: text('The new name of the tool.'),
  description: text('The new description of the tool.'),
});

/**
 * All settings of a workload, as stored and exported. Unknown keys of later versions and of other
 * programs are preserved.
 */
export const RunConfig = z
  .looseObject({
    schema_version: z.literal(runConfigVersion).meta({ description: 'The version of this format.' }),
    name: WorkloadName.meta({ description: 'The name of the workload.' }),
    base_name: WorkloadName.meta({ description: 'The name in file names.' }),
    container_name: z.string().min(1).meta({ description: 'The name of the container.' }),
    image: z.string().optional().meta({ description: 'The image or package to run, pinned to its version.' }),
    instead_of_image: z.string().optional().meta({
      description:
        'The image that was requested, if the package in image runs because there is no container engine.',
    }),
    remote_url: text('The URL of a remote server.'),
    built_in: BuiltInServerName.optional().meta({
      description: 'The server that runs inside the daemon, without a process or a container.',
    }),
    remote_auth_config: sections.remote_auth_config
      .nullish()
      .meta({ description: 'The authentication at a remote server.' }),
    registry_hosts: z.array(z.string()).optional().meta({
      description: 'The hosts in the registry entry. ToolHive does not connect to their private addresses.',
    }),
    cmd_args: z.array(Argument).nullish().meta({ description: 'The server arguments.' }),
    transport: Transport,
    proxy_mode: ProxyMode.optional(),
    host: z.string().default('127.0.0.1').meta({ description: 'The address that the proxy listens on.' }),
    insecure_no_auth: z
      .boolean()
      .optional()
      .meta({ description: 'Whether other machines can use the workload without authentication.' }),
    port: Port.meta({
      description:
        'The proxy port. A restart changes it only if ToolHive chose it and another program uses it.',
    }),
    automatic_port: flag(
      'Whether ToolHive chose the proxy port, and chooses another one if another program uses it.',
    ),
    target_port: PortOrAny.optional().meta({ description: 'The port that an HTTP server listens on.' }),
    target_host: text('The address that an HTTP server listens on.'),
    permission_profile_name_or_path: text('The built-in profile, or the file that the profile came from.'),
    permission_profile: PermissionProfile.nullish(),
    local_ports: LocalPorts.nullish().meta({
      description: 'The TCP ports of this machine’s loopback address that the server can connect to.',
    }),
    publish: PublishedPorts.nullish().meta({
      description: 'The server ports that local programs can connect to, as PORT or PORT:SERVER_PORT.',
    }),
    isolate_network: flag('Enforce the network rules of the profile.'),
    accepted_risks: z.array(Risk).nullish().meta({
      description: 'The accepted risks, as in a request for a workload. Never stored or exported.',
    }),
    not_granted: z.array(z.string().max(10_000)).optional().meta({
      description: 'Requested access that the workload did not get without consent. Not imported.',
    }),
    learning: LearningMode.optional().meta({
      description: 'Present in learning mode. An imported run config does not start learning mode.',
    }),
    learned: LearnedMode.optional().meta({
      description: 'Present after a learning mode that has ended by its time. Not imported.',
    }),
    env_vars: Environment.nullish().meta({ description: 'The server environment variables.' }),
    env_file_dir: text('A directory with environment variable files.'),
    secrets: z.array(z.string()).nullish().meta({ description: 'References, as NAME,target=VARIABLE.' }),
    volumes: texts('Mounts, as HOST:CONTAINER or HOST:CONTAINER:ro.'),
    user_config: z
      .record(z.string(), z.union([z.string(), z.array(z.string())]))
      .nullish()
      .meta({
        description: 'The values for the fields of a bundle, without secrets.',
      }),
    python_with: texts('Additional Python packages.'),
    python_version: text('The Python version.'),
    python_exclude_newer: text('The date of the newest Python packages.'),
    python_prerelease: PrereleaseMode.optional().meta({
      description: 'Which pre-releases of Python packages to accept.',
    }),
    allow_scripts: texts('The npm packages whose install scripts can run.'),
    image_verification: ImageVerification.optional().meta({
      description: 'The effect of a missing or wrong image signature. warn by default.',
    }),
    ephemeral: z
      .boolean()
      .optional()
      .meta({ description: 'Delete the home directory of the server whenever the server stops.' }),
    resources: StoredResources.nullish().meta({
      description: 'The resource limits. Absent limits have their default.',
    }),
    container_labels: z
      .record(z.string(), z.string())
      .nullish()
      .meta({ description: 'The labels of the workload.' }),
    group: GroupName.optional().meta({ description: 'The group of the workload.' }),
    debug: flag('Write more details to the proxy log.'),
    oidc_config: sections.oidc_config.nullish().meta({ description: 'The authentication of clients.' }),
    authz_config: sections.authz_config.nullish(),
    authz_config_path: z.string().optional().meta({
      description:
        'A file with authorization policies on the machine of the daemon. ToolHive reads the file at each start.',
    }),
    token_exchange_config: TokenExchangeConfig.nullish(),
    audit_config: sections.audit_config.nullish().meta({ description: 'The audit configuration.' }),
    audit_config_path: text('The file that the audit configuration came from.'),
    telemetry_config: sections.telemetry_config
      .nullish()
      .meta({ description: 'The telemetry configuration.' }),
    sessions: z
      .enum(sessionKinds)
      .optional()
      .meta({ description: 'Whether each session has a separate server process. own by default.' }),
    // Not a third value of `sessions`, which earlier versions could not read.
    auto_sessions: flag(
      'Whether sessions share processes while the server is known to keep nothing for a session, although sessions is own.',
    ),
    tools_filter: texts('The tools that clients can use. All other tools are hidden.'),
    tools_override: z
      .record(z.string(), ToolOverride)
      .nullish()
      .meta({ description: 'New names and descriptions of tools.' }),
    tool_pinning: ToolPinningMode.optional(),
    ignore_config: sections.ignore_config.nullish().meta({ description: 'The ignore file configuration.' }),
    middleware_configs: z
      .array(
        z.looseObject({
          type: z.string().meta({ description: 'The type of the middleware.' }),
          parameters: z.looseObject({}).nullish().meta({ description: 'The parameters of the middleware.' }),
        }),
      )
      .nullish()
      .meta({ description: 'The middleware of the proxy in other versions of ToolHive.' }),
    allowed_origins: WebOrigins.nullish().meta({
      description: 'The web pages that can use the workload from a browser (CORS), by their origins.',
    }),
    trust_proxy_headers: flag('Trust the X-Forwarded headers of a reverse proxy.'),
    header_forward: HeaderForward.nullish(),
    thv_ca_bundle: text('A file with CA certificates to trust for the OpenID provider.'),
    jwks_auth_token_file: text('A file with the bearer token for the signing keys.'),
    k8s_pod_template_patch: text('A patch for the pod template in Kubernetes.'),
    runtime: z.string().optional().meta({ description: 'The name of the runtime of the workload.' }),
  })
  .meta({
    id: 'RunConfig',
    description: 'All workload settings.',
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

/** Fields that later versions of the original export, and that decide who may call a server, how often, and with which credentials. */
export const laterAccessFields = [
  'additional_middleware_configs',
  'aws_sts_config',
  'embedded_auth_server_config',
  'mutating_webhooks',
  'rate_limit_config',
  'upstream_swap_config',
  'validating_webhooks',
] as const;

/** The sessions of a workload. */
export function sessionsOf({ sessions = 'own', auto_sessions: isAuto }: RunConfig): Sessions {
  return isAuto === true && sessions === 'own' ? 'auto' : sessions;
}

/** The settings for a choice of sessions. */
export function sessionSettings(sessions: Sessions): Pick<RunConfig, 'sessions' | 'auto_sessions'> {
  return sessions === 'auto' ? { sessions: 'own', auto_sessions: true } : { sessions };
}
