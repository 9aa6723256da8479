import * as z from 'zod';
import { Environment, GroupName, Port, PortOrAny, WorkloadName } from './names.ts';
import { PermissionProfile } from './permission-profile.ts';
import { ProxyMode, Transport } from './workload.ts';

/** The version that we write, and the only one that there is. */
export const runConfigVersion = 'v0.1.0';

const section = z.record(z.string(), z.unknown());

/**
 * Everything needed to run a workload again, as it is stored and exported. Keys of later versions and of other
 * programs pass through untouched.
 */
export const RunConfig = z
  .looseObject({
    schema_version: z.string().default(runConfigVersion),
    name: WorkloadName,
    base_name: WorkloadName,
    container_name: z.string().min(1),
    image: z.string().optional().meta({ description: 'The image or package to run, pinned to its version.' }),
    remote_url: z.string().optional(),
    remote_auth_config: section.optional(),
    cmd_args: z.array(z.string()).nullish(),
    transport: Transport,
    proxy_mode: ProxyMode.optional(),
    host: z.string().default('127.0.0.1'),
    port: Port.meta({ description: 'The port of the proxy; the same after every restart.' }),
    target_port: PortOrAny.optional(),
    target_host: z.string().optional(),
    permission_profile_name_or_path: z.string().optional(),
    permission_profile: PermissionProfile.nullish(),
    isolate_network: z.boolean().optional(),
    env_vars: Environment.nullish(),
    env_file_dir: z.string().optional(),
    secrets: z.array(z.string()).nullish().meta({ description: 'References, as NAME,target=VARIABLE.' }),
    volumes: z.array(z.string()).nullish(),
    container_labels: z.record(z.string(), z.string()).nullish(),
    group: GroupName.optional(),
    debug: z.boolean().optional(),
    oidc_config: section.nullish(),
    authz_config: section.nullish(),
    authz_config_path: z.string().optional(),
    audit_config: section.nullish(),
    audit_config_path: z.string().optional(),
    telemetry_config: section.nullish(),
    tools_filter: z.array(z.string()).nullish(),
    tools_override: z
      .record(z.string(), z.object({ name: z.string().optional(), description: z.string().optional() }))
      .nullish(),
    ignore_config: section.nullish(),
    middleware_configs: z.array(z.object({ type: z.string(), parameters: z.unknown() })).nullish(),
    trust_proxy_headers: z.boolean().optional(),
    thv_ca_bundle: z.string().optional(),
    jwks_auth_token_file: z.string().optional(),
    k8s_pod_template_patch: z.string().optional(),
    runtime: z
      .string()
      .optional()
      .meta({ description: 'The runtime that it was made for: docker or process.' }),
  })
  .meta({ id: 'RunConfig', description: 'Everything needed to run a workload again.' });
export type RunConfig = z.infer<typeof RunConfig>;
