import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { invalid, notFound, notImplemented } from '@toolhive/contract/failure';
import { defaultGroup } from '@toolhive/contract/names';
import { builtInProfiles } from '@toolhive/contract/permission-profile';
import { runConfigVersion } from '@toolhive/contract/run-config';
import type { RunConfig } from '@toolhive/contract/run-config';
import { ProxyMode } from '@toolhive/contract/workload';
import type { CreateWorkload } from '@toolhive/contract/workload';
import type { RuntimeName } from '@toolhive/runtime/runtime';
import { formatSource } from '@toolhive/runtime/source';
import type { Resolved } from '../registry/registry.ts';

/** The port that an HTTP server is told to listen on when neither the request nor the registry names one. */
const defaultTargetPort = 8080;

/** Turns a request and what its source came to into everything that is needed to run it, again and again. */
export function buildRunConfig({ request, resolved, name, port, runtime }: Ingredients): RunConfig {
  if ((request.group ?? defaultGroup) !== defaultGroup) throw notFound(`group ${request.group} not found`);
  const { entry } = resolved;
  const transport = transportOf(request.transport ?? entry?.transport ?? 'stdio');
  return {
    schema_version: runConfigVersion,
    name,
    base_name: name,
    container_name: name,
    image: formatSource(resolved.source),
    cmd_args: [
      ...resolved.sourceArgs,
      ...(request.cmd_arguments?.length ? request.cmd_arguments : (entry?.args ?? [])),
    ],
    transport,
    proxy_mode: transport === 'stdio' ? proxyModeOf(request.proxy_mode) : transport,
    host: request.host ?? '127.0.0.1',
    port,
    ...(transport === 'stdio'
      ? {}
      : { target_port: request.target_port || (entry?.target_port ?? defaultTargetPort) }),
    permission_profile: request.permission_profile ?? entry?.permissions ?? builtInProfiles.network,
    isolate_network: request.network_isolation ?? false,
    env_vars: environmentOf(request, entry),
    volumes: request.volumes ?? [],
    group: request.group ?? defaultGroup,
    runtime,
  };
}

interface Ingredients {
  request: CreateWorkload;
  resolved: Resolved;
  name: string;
  port: number;
  runtime: RuntimeName;
}

/** What a request may ask for and nothing enforces yet. Ignoring it would be worse than refusing it. */
const unenforced: readonly [keyof CreateWorkload, string][] = [
  ['url', 'remote servers'],
  ['secrets', 'secrets'],
  ['tools', 'tool filters'],
  ['tools_override', 'tool overrides'],
  ['network_isolation', 'network rules for single hosts'],
  ['trust_proxy_headers', 'trusting proxy headers'],
  ['authz_config', 'authorization policies'],
  ['oidc', 'OIDC token validation'],
  ['oauth_config', 'OAuth for remote servers'],
  ['headers', 'headers for remote servers'],
];

/** Throws `not-implemented` for the first thing in a request that nothing would enforce. */
export function refuseUnenforced(request: CreateWorkload): void {
  for (const [field, what] of unenforced) {
    if (isAsked(request[field])) {
      throw notImplemented(`${what} are not available yet, so ${field} cannot be honoured`, {
        hint: 'leave it out',
      });
    }
  }
}

function isAsked(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === '') return false;
  return typeof value !== 'object' || Object.values(value).some(isAsked);
}

function transportOf(transport: string): 'stdio' | 'sse' | 'streamable-http' {
  const lower = transport === transport.toUpperCase() ? transport.toLowerCase() : transport;
  if (lower === 'stdio' || lower === 'sse' || lower === 'streamable-http') return lower;
  throw invalid(`${JSON.stringify(transport)} is not a transport`, {
    hint: 'use stdio, sse or streamable-http',
  });
}

function proxyModeOf(mode: string | undefined): ProxyMode {
  const parsed = ProxyMode.safeParse(mode === undefined || mode === '' ? 'sse' : mode);
  if (!parsed.success)
    throw invalid(`${JSON.stringify(mode)} is not a proxy mode`, { hint: 'use sse or streamable-http' });
  return parsed.data;
}

function environmentOf(request: CreateWorkload, entry: Resolved['entry']): Record<string, string> {
  const given = request.env_vars ?? {};
  const variables = entry?.env_vars ?? [];
  const missing = variables.filter(
    ({ name, required, default: value }) => required && value === undefined && !given[name],
  );
  if (missing.length > 0) {
    throw invalid(`${entry?.name} needs ${missing.map(({ name }) => name).join(', ')}`, {
      hint: missing.map(({ name, description }) => `${name}: ${description}`).join(' '),
    });
  }
  const defaults = variables.flatMap(({ name, default: value }) =>
    value === undefined ? [] : [[name, value]],
  );
  return { ...Object.fromEntries(defaults), ...given };
}

/** The ports that proxies are given, and how often to try before the range counts as full. */
const firstPort = 10_000;
const lastPort = 65_535;
const attempts = 100;

/** A port for a proxy: the one that was asked for if it can be had, else a free one of nobody's. */
export async function choosePort(
  host: string,
  asked: number | undefined,
  taken: ReadonlySet<number>,
): Promise<number> {
  if (asked) {
    if (!taken.has(asked) && (await isFree(host, asked))) return asked;
    throw invalid(`port ${asked} is in use`, { hint: 'leave the port out to have a free one chosen' });
  }
  for (let attempt = 0; attempt < attempts; attempt++) {
    const port = randomInt(firstPort, lastPort + 1);
    if (!taken.has(port) && (await isFree(host, port))) return port;
  }
  throw invalid(`no free port was found on ${host}`);
}

async function isFree(host: string, port: number): Promise<boolean> {
  const probe = createServer();
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  probe.once('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EADDRINUSE' || code === 'EACCES') resolve(false);
    else
      reject(
        invalid(`${JSON.stringify(host)} is not an address of this machine`, {
          hint: 'leave the host out to listen on loopback',
        }),
      );
  });
  probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(true)));
  return promise;
}
