import { ThvError } from '@toolhive/contract/failure';
import { apiBase } from '@toolhive/contract/wire';

/** A route that only later versions of the original have. */
interface LaterRoute {
  /** Of paths below the base path. */
  pattern: RegExp;
  purpose: string;
  instead: string;
}

/** From the most specific one to the most general one. */
const laterRoutes: readonly LaterRoute[] = [
  {
    pattern: /^\/workloads\/upgrade-check$/,
    purpose: 'looks for newer servers',
    instead: `see newer_version of each workload in GET ${apiBase}/workloads?all=true`,
  },
  {
    pattern: /^\/workloads\/[^/]+\/upgrade-check$/,
    purpose: 'looks for a newer server',
    instead: `use GET ${apiBase}/workloads/{name}/update`,
  },
  {
    pattern: /^\/registry\/auth(?:\/|$)/,
    purpose: 'signs in to a registry',
    instead: `use a registry that needs no sign-in: PUT ${apiBase}/registry/default`,
  },
  {
    pattern: /^\/registry\/[^/]+\/refresh$/,
    purpose: 'reads the registry again',
    instead: `use GET ${apiBase}/registry/default, because ToolHive updates its copy automatically`,
  },
  {
    pattern: /^\/registry\/[^/]+\/v0\.1\/.*\/(?:skills|plugins)(?:\/|$)/,
    purpose: 'lists skills or plugins in a registry',
    instead: 'find them with your MCP client',
  },
  {
    pattern: /^\/registry\/[^/]+\/v0\.1(?:\/|$)/,
    purpose: 'is the API of the MCP registry',
    instead: 'use /api/registry/v0.1/servers',
  },
  {
    pattern: /^\/skills(?:\/|$)/,
    purpose: 'manages client skills',
    instead: 'install the skill with your MCP client',
  },
  {
    pattern: /^\/plugins(?:\/|$)/,
    purpose: 'manages client plugins',
    instead: 'install the plugin with your MCP client',
  },
];

/** Explains the path in a not-found error, and names the route to use here. */
export function withLaterRoute(thrown: unknown, path: string): unknown {
  if (!(thrown instanceof ThvError) || thrown.kind !== 'not-found') return thrown;
  // Some of these routes are also outside the base path.
  const below = path.startsWith(`${apiBase}/`) ? path.slice(apiBase.length) : path;
  const route = laterRoutes.find(({ pattern }) => pattern.test(below));
  if (route === undefined) return thrown;
  const { purpose, instead } = route;
  const hint = `this route of later versions of the original ${purpose}. Instead, ${instead}`;
  return new ThvError(thrown.kind, thrown.message, { hint, cause: thrown });
}
