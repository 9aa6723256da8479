import { isDeepStrictEqual } from 'node:util';

import { invalid, invalidField, notImplemented } from '@toolhive/contract/failure';
import { isLoopback } from '@toolhive/contract/loopback';
import { type RunConfig, laterAccessFields } from '@toolhive/contract/run-config';
import type { CreateWorkload } from '@toolhive/contract/workload';

/** The addresses on which a server with its own network can be reached. */
const ownHosts = ['', '0.0.0.0', '::'];

/**
 * Middleware that run configs of the original name, and that does nothing here that is not done anyway. Without telemetry_config,
 * nothing is sent.
 */
const harmlessMiddleware = ['mcp-parser', 'recovery', 'telemetry', 'usagemetrics'];

/** Middleware that repeats the run config's tool settings, which are applied from there. */
const toolMiddleware = ['tool-filter', 'tool-call-filter'];

/** Throws `invalid` for a server on another host, because each server listens in a network of its own. */
export function requireOwnHost({ target_host: host = '' }: CreateWorkload): void {
  if (ownHosts.includes(host) || isLoopback(host)) return;
  const message = `the server cannot listen on ${JSON.stringify(host)}, because it has its own network`;
  throw invalidField('/target_host', message, {
    hint: `omit the target host, or use a URL such as http://${host}:8080/mcp as the source if the server already runs there`,
  });
}

/**
 * Throws for the first thing in a run config from any source that nothing would enforce, or that its author could misuse:
 * a workload that is less safe than its configuration never starts.
 */
export function refuseUnenforced(runConfig: RunConfig): void {
  const { env_file_dir: folder } = runConfig;
  if (folder) {
    throw invalid(`a run config cannot make ToolHive read the environment files in ${folder}`, {
      hint: `remove env_file_dir, and run the server with --env-file-dir ${folder} instead`,
    });
  }
  const later = laterAccessFields.find((name) => isAsked(runConfig[name]));
  if (later !== undefined) throw refusal('the access settings of later versions are', later);
  for (const { type, parameters } of runConfig.middleware_configs ?? []) {
    if (toolMiddleware.includes(type) && repeatsTools(runConfig, parameters)) continue;
    if (repeatsAccess(type, runConfig, parameters)) continue;
    if (!harmlessMiddleware.includes(type) && isAsked(parameters)) {
      throw refusal(`the middleware ${JSON.stringify(type)} of run configs is`, 'middleware_configs');
    }
  }
}

function repeatsTools(
  { tools_filter: filter, tools_override: overrides }: RunConfig,
  parameters: Record<string, unknown> | null | undefined,
): boolean {
  const { filter_tools: otherFilter, tools_override: otherOverrides } = parameters ?? {};
  return (
    isDeepStrictEqual(filter ?? [], otherFilter ?? []) &&
    isDeepStrictEqual(overrides ?? {}, otherOverrides ?? {})
  );
}

/** Middleware for callers that repeats other parts of the run config, which are enforced from there. */
function repeatsAccess(
  type: string,
  runConfig: RunConfig,
  parameters: Record<string, unknown> | null | undefined,
): boolean {
  const repeats = (value: unknown, other: unknown): boolean =>
    !isAsked(value) || isDeepStrictEqual(value, other);
  switch (type) {
    case 'auth':
      return repeats(parameters?.['oidc_config'], runConfig.oidc_config);
    case 'tokenexchange':
      return repeats(parameters?.['token_exchange_config'], runConfig.token_exchange_config);
    case 'authorization':
      return (
        repeats(parameters?.['config_path'], runConfig.authz_config_path) &&
        repeats(parameters?.['config_data'], runConfig.authz_config)
      );
    case 'audit':
      return (
        repeats(parameters?.['config_path'], runConfig.audit_config_path) &&
        ((parameters?.['config_data'] ?? null) === null || (runConfig.audit_config ?? null) !== null)
      );
    case 'header-forward':
      return repeatsHeaders(runConfig, parameters);
    default:
      return false;
  }
}

/** The headers that a later version of the original writes in two places. */
function repeatsHeaders(
  { remote_auth_config: auth }: RunConfig,
  parameters: Record<string, unknown> | null | undefined,
): boolean {
  const known = new Set(auth?.headers?.map(({ name }) => name.toLowerCase()));
  return Object.keys(parameters?.['add_headers'] ?? {}).every((name) => known.has(name.toLowerCase()));
}

function refusal(what: string, field: string): Error {
  return notImplemented(`${what} not available yet, so ${field} is not supported`, {
    hint: 'omit it',
  });
}

function isAsked(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === '' || value === 0) return false;
  return typeof value !== 'object' || Object.values(value).some(isAsked);
}
