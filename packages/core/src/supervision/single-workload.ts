import { messageOf } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { Progress } from '@toolhive/runtime/runtime';
import type { Logger } from 'pino';
import { openWorkloadAccess } from '@toolhive/access/workload-access';
import { StdoutAudit } from '@toolhive/audit/stdout-audit';
import type { Pins } from '@toolhive/proxy/tool-pinning';
import { openUnkeptRemote } from '@toolhive/remote/open';
import { newWorkloadId } from '@toolhive/state/workload-id';
import type { RateLimits, ReplicaOptions } from '@toolhive/proxy/proxy';
import { listEverything } from './list-everything.ts';
import { openProxy } from './open-proxy.ts';
import { proxyOptionsOf } from '../parts/part.ts';
import { accessPart, auditPart, builtInPart, telemetryPart } from './proxy-parts.ts';
import { untilUnavailable } from './remote-watch.ts';
import { failureFields } from './run-workload.ts';
import { runServer } from './run-loop.ts';
import type { RunEvent, RunTiming, StartedServer } from './run-loop.ts';

export type { RateLimits, ReplicaOptions, ServerPod } from '@toolhive/proxy/proxy';
export type { StartedServer } from './run-loop.ts';

export interface SingleWorkloadOptions {
  version: string;
  env: NodeJS.ProcessEnv;
  log: Logger;
  /** Connects to the server of a workload without `remote_url`. Called again after the server has ended. */
  reachServer: (report: Progress, signal: AbortSignal) => Promise<StartedServer>;
  /** Returns the value of a secret that the run config names. */
  readSecret: (name: string) => Promise<string>;
  /** Names that clients use for the proxy besides its address. */
  publicHosts: readonly string[];
  /** How the proxy shares sessions with other proxies of the same server. By default, there are none. */
  replicas?: ReplicaOptions | undefined;
  /** How many tools callers may call in a time. The limits are for all proxies with the same storage together. */
  rateLimits?: RateLimits | undefined;
  /** The approved tools. The proxy lists the server's tools whenever the server has started. */
  pins?: Pins | undefined;
  /** How the proxy ends: how long requests may still arrive, and how long calls may take. */
  drain?: { settleMs: number; maxMs: number } | undefined;
  /** Names this process in its audit records. */
  pod: string;
  /** Receives one line for each audit event. */
  writeAudit: (line: string) => void;
  /** Ends the proxy. */
  signal: AbortSignal;
}

/** The server is started by a cluster, which may take any time, so attempts continue without a limit. */
const timing: RunTiming = {
  firstBackoffMs: 500,
  maxBackoffMs: 2_000,
  maxAwayMs: 10_000,
  firstAttempts: Number.POSITIVE_INFINITY,
  settledMs: 30_000,
};
const firstAnswerMs = 60_000;
/** Open calls end with the proxy. */
const noDrain = { settleMs: 0, maxMs: 0 };

/**
 * Proxies one server in the foreground until the signal aborts, with the same middleware as a daemon and without files.
 * The proxy port stays open while servers start and end. Rejects if the port cannot be opened.
 */
export async function runSingleWorkload(runConfig: RunConfig, options: SingleWorkloadOptions): Promise<void> {
  const { version, env, log, readSecret, signal, drain = noDrain } = options;
  using opened = new DisposableStack();
  const parts = [
    accessPart((config) => openWorkloadAccess(config, readSecret)),
    builtInPart,
    auditPart(new StdoutAudit(options.writeAudit, options.pod)),
    telemetryPart({ version, env }),
  ];
  const settings = await proxyOptionsOf(
    parts,
    { id: newWorkloadId(), runConfig },
    {
      warn: (fields, message) => log.warn(fields, message),
      serverVersion: () => undefined,
      own: (resource) => opened.use(resource),
    },
  );
  let excess = (_reason: string): void => {};
  await using proxy = await openProxy(runConfig, {
    ...settings,
    publicHosts: [...(settings.publicHosts ?? []), ...options.publicHosts],
    answersProbes: true,
    replicas: options.replicas,
    taskKeys: options.replicas?.keys,
    pins: options.pins,
    ...(options.rateLimits === undefined
      ? {}
      : { rateLimits: { limits: options.rateLimits, shared: options.replicas?.storage } }),
    version,
    onExcess: (reason) => excess(reason),
    onFault: (error) => log.error({ err: error }, 'fault in the proxy'),
    onInvalidOutput: (line) => log.info({ line: line.slice(0, 2000) }, 'server output'),
  });
  log.info({ workload: runConfig.name, port: proxy.port }, 'proxy listening');
  const ended = new AbortController();
  const end = (): void => {
    log.info('finishing open calls');
    void proxy
      .drain(drain)
      .catch((error: unknown) => log.error({ err: error }, 'fault in the proxy'))
      .finally(() => ended.abort());
  };
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  await runServer({
    timing,
    hasWorked: true,
    openProxy: (onExcess) => {
      excess = onExcess;
      return Promise.resolve(proxy);
    },
    startServer: (report, over) =>
      runConfig.remote_url ? reachRemote(runConfig, options, over) : options.reachServer(report, over),
    report: (message) => log.debug({ message }, 'progress'),
    onEvent: async (event) => {
      logEvent(log, event);
      if (event.kind === 'running' && options.pins !== undefined)
        // The server serves clients in the meantime, whose lists tell the same.
        listEverything({ proxy, host: runConfig.host, port: proxy.port, version, ended: ended.signal }).catch(
          (error: unknown) => log.debug({ err: error }, 'the tools are not known before a client lists them'),
        );
    },
    signal: ended.signal,
  });
}

async function reachRemote(
  { remote_url: url = '', remote_auth_config: config, token_exchange_config: exchange }: RunConfig,
  { log, readSecret }: SingleWorkloadOptions,
  signal: AbortSignal,
): Promise<StartedServer> {
  const secret = config?.client_secret;
  const remote = await openUnkeptRemote({
    url,
    config: { ...config, skip_browser: true },
    callersAuthenticate: Boolean(exchange),
    ...(secret === undefined ? {} : { clientSecret: await readSecret(secret.split(',')[0] ?? '') }),
    onSignIn: () => log.warn({ url }, 'the remote server requires a user to sign in, which needs a daemon'),
    onNotSignedIn: (error) => log.warn({ url, reason: messageOf(error) }, 'not signed in'),
    hint: 'configure static headers or credentials for the remote server',
    signal,
  });
  remote.settle();
  const over = new AbortController();
  return {
    id: url,
    server: { address: remote.server },
    startAnother: () => Promise.reject(new Error('a remote server is not started from here')),
    ended: untilUnavailable(remote.server, over.signal),
    async stop() {
      over.abort();
      await remote[Symbol.asyncDispose]();
    },
    firstAnswerMs,
  };
}

function logEvent(log: Logger, event: RunEvent): void {
  if (event.kind === 'running')
    log.info({ server: event.id, generation: event.generation }, 'server answered');
  else if (event.kind === 'failed') log.warn(failureFields(event), 'server not available');
  else log.debug({ attempt: event.attempt }, 'connecting to the server again');
}
