import { isDeepStrictEqual } from 'node:util';

import { notImplemented } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { CreateWorkload } from '@toolhive/contract/workload';

interface Unenforced {
  /** With its verb. */
  what: string;
  request?: keyof CreateWorkload;
  /** A key of the run config. A string type, because run configs are open to keys of other versions. */
  runConfig?: string;
}

/** Settings that ToolHive accepts from requests but cannot enforce. Refusing them is safer than ignoring them. */
const unenforced: readonly Unenforced[] = [
  { what: 'other hosts for servers are', request: 'target_host' },
  { what: 'files of environment variables are', runConfig: 'env_file_dir' },
  { what: 'patches for Kubernetes are', runConfig: 'k8s_pod_template_patch' },
];

/** Middleware that every run config of the original names, and that does nothing here that is not done anyway. */
const harmlessMiddleware = ['mcp-parser'];

/** Middleware that repeats the run config's tool settings, which are applied from there. */
const toolMiddleware = ['tool-filter', 'tool-call-filter'];

/** Throws `not-implemented` for the first thing in a request that nothing would enforce. */
export function refuseUnenforcedRequest(request: CreateWorkload): void {
  for (const { what, request: field } of unenforced) {
    if (field !== undefined && isAsked(request[field])) throw refusal(what, field);
  }
}

/** The same for a run config from any source: a workload that is less safe than its configuration never starts. */
export function refuseUnenforced(runConfig: RunConfig): void {
  for (const { what, runConfig: field } of unenforced) {
    if (field !== undefined && isAsked(at(runConfig, field))) throw refusal(what, field);
  }
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
    default:
      return false;
  }
}

function refusal(what: string, field: string): Error {
  return notImplemented(`${what} not available yet, so ${field} cannot be honoured`, {
    hint: 'leave it out',
  });
}

function at(value: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((part, key) => (part as Record<string, unknown> | null | undefined)?.[key], value);
}

function isAsked(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === '' || value === 0) return false;
  return typeof value !== 'object' || Object.values(value).some(isAsked);
}
