import { hostname } from 'node:os';
import { parseArgs } from 'node:util';
import { invalid, messageOf, notFound } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import { metaSettings } from '@toolhive/tool-search/settings';
import { networkOf } from '@toolhive/core/network-grant';
import { checkSingleWorkload } from '@toolhive/core/check-single-workload';
import { runSingleWorkload } from '@toolhive/core/single-workload';
import type { RateLimits, ReplicaOptions, StartedServer } from '@toolhive/core/single-workload';
import { loadConfig } from '@toolhive/kubernetes/config';
import { ForwardProxy } from '@toolhive/runtime/forward-proxy';
import type { Logger } from 'pino';
import * as z from 'zod';
import { openLog } from '../log.ts';
import { startMetaServer } from '../meta/meta-server.ts';
import { version } from '../version.ts';
import { attachToPod } from './attached-server.ts';
import { LoggedEgress } from './logged-egress.ts';
import { publicHostsOf } from './public-hosts.ts';
import { reachHttpServer } from './http-server.ts';
import { podsAt, podsOf, reachServerPods } from './server-pods.ts';
import { SessionKeys } from './session-keys.ts';
import type { SessionStorage } from './session-storage.ts';
import { readRunConfig } from './run-config-file.ts';
import { openSharedPins } from './shared-pins.ts';
import type { SharedPins } from './shared-pins.ts';

/** The port of the egress gateway. The operator sets the proxy variables in server pods to this port. */
const egressPort = 3128;

/** The longest that a proxy waits for open calls. */
const maxDrainSeconds = 3600;

const options = {
  'run-config': { type: 'string' },
  'server-host': { type: 'string' },
  'egress-port': { type: 'string' },
  'server-pod': { type: 'string', multiple: true },
  'session-keys': { type: 'string' },
  'peer-port': { type: 'string' },
  'session-storage': { type: 'string' },
  'session-storage-db': { type: 'string' },
  'session-storage-prefix': { type: 'string' },
  'session-storage-tls': { type: 'string' },
  'rate-limits': { type: 'string' },
  'tool-pins': { type: 'string' },
  'listed-tools': { type: 'string' },
  'drain-delay': { type: 'string' },
  'drain-timeout': { type: 'string' },
} as const;

/**
 * Runs the command line of the proxy runner until the signal aborts: `run [--run-config FILE] [--server-host HOST]
 * [--egress-port PORT] [--session-keys DIRECTORY [--peer-port PORT] [--server-pod HOST:PORT]... [--session-storage HOST:PORT]] [--rate-limits JSON] [--tool-pins FILE
 * [--listed-tools CONFIGMAP/KEY]] [--drain-delay SECONDS] [--drain-timeout SECONDS]`. With session keys, the proxy shares the sessions of clients with other proxies that have
 * the keys, and reaches each server pod by itself. Throws `invalid` for a command line or a run config that cannot run with all of its rules.
 */
export async function runProxy(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<void> {
  const flags = flagsOf(words);
  const runConfig = await readRunConfig(flags['run-config'], env);
  const readSecret = async (name: string): Promise<string> => {
    const value = env[name];
    if (value === undefined || value === '')
      throw notFound(`secret ${name} not found`, { hint: 'set the environment variable of the same name' });
    return value;
  };
  await checkSingleWorkload(runConfig, { readSecret });
  if (runConfig.built_in !== undefined) metaSettings(runConfig.env_vars ?? {}, 'k8s'); // throws for invalid values
  const log = openLog({ debug: runConfig.debug === true || env['TOOLHIVE_DEBUG'] === 'true' });
  await using _egress = await openEgress(runConfig, log, portOf(flags['egress-port']));
  using replicas = await replicasOf(flags, runConfig, { env, log });
  await using shared = await sharedPinsOf(flags, runConfig, { env, log });
  await runSingleWorkload(runConfig, {
    version,
    env,
    log,
    readSecret,
    publicHosts: publicHostsOf(runConfig.name, env),
    pod: env['POD_NAME'] || hostname(),
    writeAudit: (line) => {
      process.stdout.write(line);
    },
    reachServer: async (_report, over) => {
      if (runConfig.built_in !== undefined)
        return startMetaServer(runConfig, { config: await loadConfig(env), env, log, signal: over });
      return runConfig.transport === 'stdio'
        ? attachToPod(await loadConfig(env), podOf(runConfig, env), { log, signal: over })
        : reachHttp(runConfig, flags, replicas !== undefined);
    },
    replicas,
    rateLimits: rateLimitsFrom(flags),
    pins: shared?.pins,
    drain: drainFrom(flags),
    signal,
  });
}

function flagsOf(words: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true });
    const [command = 'run', extra] = positionals;
    if (command !== 'run' || extra !== undefined) throw new Error(`unexpected argument ${extra ?? command}`);
    return values;
  } catch (error) {
    throw invalid(messageOf(error), { hint: 'run proxy-runner run [--run-config FILE]', cause: error });
  }
}

type Flags = ReturnType<typeof flagsOf>;

function portOf(text = String(egressPort), flag = '--egress-port'): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw invalid(`${flag} is not a port: ${text}`, { hint: 'use a number from 0 to 65535' });
}

/** How a proxy with this command line ends. Without the flags, open calls end at once. */
export function drainOf(argv: readonly string[]): { settleMs: number; maxMs: number } {
  try {
    return drainFrom(flagsOf(argv.slice(2)));
  } catch {
    return { settleMs: 0, maxMs: 0 }; // the proxy does not start with this command line
  }
}

function drainFrom({ 'drain-delay': delay = '0', 'drain-timeout': timeout = '0' }: Flags) {
  const msOf = (flag: string, text: string): number => {
    const seconds = Number(text);
    if (/^\d+(\.\d+)?$/.test(text) && seconds <= maxDrainSeconds) return seconds * 1000;
    throw invalid(`${flag} is not a number of seconds: ${text}`, { hint: `use 0 to ${maxDrainSeconds}` });
  };
  const settleMs = msOf('--drain-delay', delay);
  return { settleMs, maxMs: Math.max(msOf('--drain-timeout', timeout), settleMs) };
}

async function replicasOf(
  flags: Flags,
  { transport, host }: RunConfig,
  { env, log }: { env: NodeJS.ProcessEnv; log: Logger },
): Promise<(ReplicaOptions & Disposable) | undefined> {
  const { 'session-keys': directory, 'peer-port': peerPort, 'server-pod': pods } = flags;
  if (directory === undefined && (peerPort ?? pods ?? flags['session-storage']) !== undefined)
    throw invalid('--peer-port, --server-pod, and --session-storage need --session-keys', {
      hint: 'name the directory with the session keys',
    });
  if (directory === undefined) return undefined;
  if (transport === 'stdio')
    throw invalid(
      '--session-keys is not supported for stdio, because only one proxy can use a stdio server',
      {
        hint: 'remove the flag',
      },
    );
  using opened = new DisposableStack();
  const keys = opened.use(await SessionKeys.open(directory));
  const storage = await storageOf(flags, env, log);
  if (storage !== undefined) opened.use(storage);
  const advertised = env['POD_IP'];
  const peers =
    peerPort === undefined || !advertised
      ? {}
      : { peers: { host, port: portOf(peerPort, '--peer-port'), advertised } };
  const kept = opened.move();
  return { keys: keys.keys, storage, ...peers, [Symbol.dispose]: () => kept.dispose() };
}

async function sharedPinsOf(
  { 'tool-pins': file, 'listed-tools': report }: Flags,
  runConfig: RunConfig,
  { env, log }: { env: NodeJS.ProcessEnv; log: Logger },
): Promise<SharedPins | undefined> {
  if (file !== undefined) return openSharedPins(runConfig, { file, report, env, log });
  if (report !== undefined)
    throw invalid('--listed-tools needs --tool-pins', { hint: 'name the file with the pins' });
  return undefined;
}

const Limit = z.strictObject({ maxTokens: z.int().min(1), refillMs: z.number().min(1) }).optional();
const Scoped = z.strictObject({ shared: Limit, perUser: Limit });
const Limits = Scoped.extend({ tools: z.record(z.string(), Scoped).optional() });

function rateLimitsFrom({ 'rate-limits': text }: Flags): RateLimits | undefined {
  if (text === undefined) return undefined;
  try {
    return Limits.parse(JSON.parse(text));
  } catch (cause) {
    throw invalid(`--rate-limits has no valid limits: ${messageOf(cause)}`, {
      hint: 'for example: {"shared":{"maxTokens":100,"refillMs":60000}}',
      cause,
    });
  }
}

/** The variables with the credentials for the session storage, which must not be on a command line. */
const storageUser = 'TOOLHIVE_SESSION_STORAGE_USERNAME';
const storagePassword = 'TOOLHIVE_SESSION_STORAGE_PASSWORD';

async function storageOf(
  flags: Flags,
  env: NodeJS.ProcessEnv,
  log: Logger,
): Promise<SessionStorage | undefined> {
  const { 'session-storage': address, 'session-storage-db': db = '0', 'session-storage-tls': tls } = flags;
  if (address === undefined) return undefined;
  if (!/^\d{1,5}$/.test(db))
    throw invalid(`--session-storage-db is not the number of a database: ${db}`, { hint: 'use 0 to 15' });
  const { host, port } = addressOf(address, '--session-storage');
  const keyPrefix = flags['session-storage-prefix'] ?? 'toolhive:';
  const [username, password] = [env[storageUser] || undefined, env[storagePassword] || undefined];
  const { SessionStorage: Storage } = await import('./session-storage.ts'); // most proxies have no storage
  return Storage.open({ host, port, db: Number(db), keyPrefix, username, password, tls }, log);
}

function reachHttp(
  { name, target_port: port = 0 }: RunConfig,
  { 'server-host': host, 'server-pod': given }: Flags,
  isReplicated: boolean,
): Promise<StartedServer> | StartedServer {
  if (!isReplicated || host !== undefined)
    return reachHttpServer({ host: host ?? `mcp-${name}-headless`, port });
  return reachServerPods(
    given === undefined ? podsOf(name, port) : podsAt(given.map((text) => addressOf(text))),
  );
}

function addressOf(text: string, flag = '--server-pod'): { host: string; port: number } {
  const [, host = '', port] = /^\[?([^[\]]+)\]?:(\d+)$/.exec(text) ?? [];
  if (host === '') throw invalid(`${flag} is not HOST:PORT: ${text}`);
  return { host, port: portOf(port, flag) };
}

/** The server pod. Its StatefulSet has one replica, because a stdio server has one standard input. */
function podOf({ name }: RunConfig, env: NodeJS.ProcessEnv) {
  const namespace = env['POD_NAMESPACE'];
  return { name: `${name}-0`, ...(namespace ? { namespace } : {}) };
}

async function openEgress(
  runConfig: RunConfig,
  log: Logger,
  port: number,
): Promise<ForwardProxy | undefined> {
  const grant = networkOf(runConfig);
  if (runConfig.remote_url || grant.kind !== 'rules') return undefined;
  const proxy = await ForwardProxy.open({
    host: '0.0.0.0',
    port,
    egress: new LoggedEgress(grant.rules, log),
  });
  log.info({ port: proxy.port }, 'egress gateway listening');
  return proxy;
}
