import type { CreateWorkload } from './schemas/workload.ts';

/** The fields of a request for a workload in version 0.4.2 of the original. */
export const originalFields = [
  'authz_config',
  'cmd_arguments',
  'env_vars',
  'group',
  'headers',
  'host',
  'image',
  'name',
  'network_isolation',
  'oauth_config',
  'oidc',
  'permission_profile',
  'proxy_mode',
  'proxy_port',
  'secrets',
  'target_port',
  'tools',
  'tools_override',
  'transport',
  'trust_proxy_headers',
  'url',
  'volumes',
] as const satisfies (keyof CreateWorkload)[];

/** The fields of such a request in later versions. */
const laterFields = [
  'allow_docker_gateway',
  'header_forward',
  'registry',
  'runtime_config',
  'server',
] as const satisfies (keyof CreateWorkload)[];

const known: ReadonlySet<string> = new Set([...originalFields, ...laterFields]);

/**
 * Whether a request has only fields of the original, in any of its versions. Its client may be unable to ask the user for consent, which the original
 * does not know. A client of this ToolHive sends `accepted_risks`, also if the list is empty.
 */
export function isOriginalForm(request: object): boolean {
  return Object.entries(request).every(([field, value]) => value === undefined || known.has(field));
}
