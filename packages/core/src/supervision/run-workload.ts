import { ThvError, messageOf } from '@toolhive/contract/failure';
import type { FailureKind } from '@toolhive/contract/failure';
import { publishedPortOf } from '@toolhive/contract/names';
import type { Progress, RuntimeLimit } from '@toolhive/runtime/runtime';
import type { Logs } from '@toolhive/state/logs';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { StoredRunConfig } from '@toolhive/state/run-configs';
import type { RemoteAuthState } from '@toolhive/remote/auth-status';
import { SignInPace } from '@toolhive/remote/sign-in-pace';
import { causeOf, complaintIn } from '@toolhive/runtime/cause';
import type { Cause, KnownServer } from '@toolhive/runtime/cause';
import { networkOf } from '../permissions/network.ts';
import { contain } from './containment.ts';
import { startBuiltInServer } from './built-in-server.ts';
import type { BuiltInServerOptions } from './built-in-server.ts';
import { startLocalServer } from './local-server.ts';
import type { LocalServerOptions } from './local-server.ts';
import type { LiveParts } from './live-parts.ts';
import { openProxy } from './open-proxy.ts';
import { openOnFreePort } from './open-on-free-port.ts';
import { proxyOptionsOf } from '../parts/part.ts';
import type { Part } from '../parts/part.ts';
import { reachRemoteServer } from './remote-server.ts';
import type { RemoteServerOptions } from './remote-server.ts';
import { nextAttempt, runServer } from './run-loop.ts';
import type { RunEvent, RunTiming, StartedServer } from './run-loop.ts';
import type { WorkloadLog } from './workload-log.ts';

export interface RunWorkloadOptions extends LocalServerOptions, RemoteServerOptions, BuiltInServerOptions {
  logs: Logs;
  version: string;
  /** Everything that a workload consists of besides its server and its run config. */
  parts: readonly Part[];
  /** Whether another workload has or reserves a port. */
  isPortTaken: (port: number) => boolean;
  timing: RunTiming & LocalServerOptions['timing'];
}

/** What concerns one run. */
interface Run {
  hasWorked: boolean;
  live: LiveParts;
  log: WorkloadLog;
  report: Progress;
  onEvent: (event: RunEvent) => Promise<void>;
  /** Receives the settings that the runtime cannot enforce for the server. */
  onLimits: (limits: readonly RuntimeLimit[]) => void;
  /** Stores the port that the proxy listens on instead of the one in the run config. */
  onPort: (port: number) => Promise<void>;
  /** Receives each change of the sign-in to a remote server. */
  onSignIn: (state: RemoteAuthState) => Promise<void>;
  /** Whether a request to a remote server waits until the user has signed in. */
  isPatient: () => boolean;
  signal: AbortSignal;
}

/**
 * Runs the server of a workload behind its proxy until the signal aborts, and writes both logs. A fault in the daemon's work
 * for the workload, which something from the server or a client may have caused, stops the server with a reason.
 */
export async function runWorkload(
  stored: StoredRunConfig,
  options: RunWorkloadOptions,
  run: Run,
): Promise<void> {
  let stopServer = (_reason: string): void => {};
  const onFault = (fault: unknown): void => {
    run.log.note(
      'error',
      { err: fault, reason: messageOf(fault) },
      'uncaught failure, the server is stopped',
    );
    stopServer(`was stopped because of an internal error of ToolHive: ${messageOf(fault)}`);
  };
  await contain(onFault, () =>
    runContained(stored, options, { ...run, onExcess: (stop) => (stopServer = stop) }),
  );
}

async function runContained(
  stored: StoredRunConfig,
  options: RunWorkloadOptions,
  run: Run & { onExcess: (stop: (reason: string) => void) => void },
): Promise<void> {
  const { logs, timing } = options;
  const { runConfig } = stored;
  const { hasWorked, live, log, report, onEvent, signal } = run;
  let current = stored; // its port changes if another program uses the stored one
  const pace = new SignInPace(); // one for all attempts
  await using serverLog = await logs.open(runConfig.name, 'server');
  await using proxyLog = await logs.open(runConfig.name, 'proxy');
  log.proxyLog = proxyLog;
  using opened = new DisposableStack();
  opened.defer(() => (live.proxy = undefined));

  const startServer = (): Promise<StartedServer> => {
    serverLog.endLine(); // of a prompt, for example
    if (runConfig.built_in !== undefined)
      return startBuiltInServer(runConfig, options, (text) => serverLog.write(`[toolhive] ${text}\n`));
    return runConfig.remote_url
      ? reachRemoteServer(stored, options, {
          ...run,
          pace,
          onNotSignedIn: (error) => log.note('warn', { reason: messageOf(error) }, 'sign-in failed'),
        })
      : startLocalServer(current, options, { ...run, log: (chunk) => serverLog.write(chunk) });
  };

  await runServer({
    timing,
    hasWorked,
    openProxy: async (onExcess) => {
      run.onExcess(onExcess);
      const settings = await proxyOptionsOf(options.parts, stored, {
        warn: (fields, message) => log.note('warn', fields, message),
        serverVersion: () => live.proxy?.serverVersion,
        own: (resource) => opened.use(resource),
      });
      const own = {
        ...settings,
        version: options.version,
        onExcess,
        onFault: (error: unknown) => log.note('warn', { err: error }, 'fault in the proxy'),
        onTolerance: (deviation: string) =>
          log.note('info', { deviation }, 'the server deviates from the protocol'),
        onInvalidOutput(line: string) {
          serverLog.endLine();
          serverLog.write(`[stdout] ${line.slice(0, 2000)}\n`);
        },
      };
      live.proxy = await openOnFreePort(runConfig, {
        open: (placed) => {
          current = { ...stored, runConfig: placed };
          return openProxy(placed, own);
        },
        isPortTaken: options.isPortTaken,
        onPort: run.onPort,
      });
      return live.proxy;
    },
    startServer,
    report,
    onEvent,
    signal,
  });
}

type Failed = Extract<RunEvent, { kind: 'failed' }>;

/** A failure as fields of a log line. Of mistakes in ToolHive, the log also contains the stack trace. */
export function failureFields({ failure, retryInMs }: Failed): Record<string, unknown> {
  const { reason, hasEnded, error } = failure;
  const isBug = !hasEnded && !(error instanceof ThvError);
  return { ...(isBug ? { err: error } : {}), reason, retryInMs };
}

/** What a run config says about its server, for the reasons of failures. */
export function knownServer(runConfig: RunConfig, publishedAt?: string): KnownServer {
  const { name, image = '', python_with, python_exclude_newer, cmd_args, env_vars } = runConfig;
  return {
    name,
    publishedAt,
    pythonWith: python_with,
    pythonExcludeNewer: python_exclude_newer,
    once: runningOnce(runConfig),
    given: [...(cmd_args ?? []), ...Object.values(env_vars ?? {})],
    image,
    isPython: image.startsWith('uvx://'),
    localPorts: runConfig.local_ports,
    publishedPorts: runConfig.publish?.map((text) => publishedPortOf(text).serverPort),
    hasNetwork: networkOf(runConfig).kind !== 'none',
  };
}

/** A command that has done its work, such as a sign-in, is no server. */
function withoutArguments({ reason }: Failed['failure'], { once }: KnownServer): string | undefined {
  const hasSucceeded = reason.endsWith(' exited with code 0');
  return hasSucceeded && once !== undefined
    ? `if its arguments are those of a command that runs once, run the server without them, and then ${once}`
    : undefined;
}

/** The command that runs the program of a server once with the arguments of the server. */
function runningOnce({ name, cmd_args }: RunConfig): string | undefined {
  const words = cmd_args ?? [];
  const isPlain = words.length > 0 && words.every((word) => /^[\w./:=@-]{1,100}$/.test(word));
  return isPlain ? `thv exec ${name} -- ${words.join(' ')}` : undefined;
}

/** Failures before the start of the server, so that the output is that of an earlier start. */
const refusals: ReadonlySet<FailureKind> = new Set(['invalid', 'not-found', 'unsupported', 'no-space']);

function complaintOf({ error }: Failed['failure'], output: string, server: KnownServer): Cause | undefined {
  return error instanceof ThvError && refusals.has(error.kind) ? undefined : complaintIn(output, server);
}

/** A failure in a sentence, with the cause from the output of the server and the time until the next attempt. */
export async function describeFailure(
  { failure, retryInMs }: Failed,
  logs: Pick<Logs, 'read'>,
  name: string,
  server: KnownServer,
): Promise<string> {
  const output = await logs.read(name, 'server', { lines: 60 });
  // A server that still runs may have written why it does not answer.
  const isSilent = failure.error instanceof ThvError && failure.error.kind === 'timeout';
  const cause = failure.hasEnded || isSilent ? causeOf(output, server) : complaintOf(failure, output, server);
  // Other reasons, such as those of an installation, are not about what the server misses.
  const isAnswer = failure.reason.startsWith('the server refused ');
  const found =
    cause?.fix ?? (isAnswer ? complaintIn(failure.reason, server)?.fix : withoutArguments(failure, server));
  const fix = found === undefined ? '' : `; to fix it, ${found}`;
  // A line can end with a colon before more lines, but the sentence continues.
  const line = fix === '' ? cause?.line : cause?.line.replace(/(?<![.:;,])[.:;,]+$/, '');
  const wrote = `${line === undefined ? '' : `; last output: ${line}`}${fix}`;
  return `${failure.reason}${wrote}${nextAttempt(retryInMs)}`;
}
