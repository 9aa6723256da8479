import { join, resolve } from 'node:path';
import { apiActions } from '@toolhive/api/authorization';
import type { Access } from '@toolhive/access/access';
import type { ApiPolicies } from '@toolhive/access/api-policies';
import { takeFault } from '@toolhive/core/containment';
import { openCore } from '@toolhive/core/core';
import type { Core, CoreOptions } from '@toolhive/core/core';
import { statePaths } from '@toolhive/state/paths';
import { openDaemon } from '@toolhive/daemon/daemon';
import type { ApiAddress, Daemon, ToolsAddress } from '@toolhive/daemon/daemon';
import type { Client } from '@toolhive/contract/client';
import { ThvError, conflict, invalid, unavailable } from '@toolhive/contract/failure';
import { untilAborted, waitUntil } from '../../wait.ts';
import type { CommandCall, FlagValues } from '../../command.ts';
import { daemonLogFile } from '../../bounded-log.ts';
import { findDaemon } from '../../daemon.ts';
import { millisecondsOf } from '../../duration.ts';
import type { Out } from '../../out.ts';
import { endOnFault } from '../../last-resort.ts';
import { openLog } from '../../log.ts';
import { removeProjectPrograms } from '../../project-programs.ts';
import { version } from '../../version.ts';
import { accessFor } from '../access.ts';
import { portFrom } from '../port.ts';

/** The reason for a requested end. */
const asked = Symbol('asked');

/** How long another daemon gets to end before this one gives up taking over. */
const takeOverMs = 30_000;

/** Runs the daemon until a signal or a request stops it, and calls `onReady` when it serves requests. */
export async function serve(
  { flags, out, signal }: CommandCall,
  { onReady }: { onReady: () => void },
): Promise<void> {
  removeProjectPrograms(process.env);
  const isBackground = flags.has('background');
  const path = isBackground ? join(statePaths(process.env).state, daemonLogFile) : undefined;
  const log = openLog({ debug: flags.has('debug'), path });
  const ended = new AbortController();
  endOnFault(log, { takeFault, end: (fault) => ended.abort(fault) });
  const stop = (): void => ended.abort(asked);
  signal.addEventListener('abort', stop, { once: true });

  const host = flags.text('host') ?? '127.0.0.1';
  const socket = flags.text('socket');
  const guarded = { host: socket === undefined ? host : 'localhost', what: 'the API', note: out.note };
  const port = portFrom(flags);
  const access = await accessFor(flags, guarded);
  const policies = await policiesFrom(flags, access);
  const tools = flags.has('experimental-mcp') ? await toolsFrom(flags, out.note) : undefined;
  const clientDocument = process.env['TOOLHIVE_CLIENT_DOCUMENT'];
  const options = { env: process.env, version, log, clientDocument };
  const opening = openDaemon({
    version,
    env: process.env,
    log,
    openCore: () =>
      isBackground ? openAfterOther(options, signal) : openOrTakeOver(options, out.note, signal),
    background: isBackground ? { idleMs: () => idleLimit(process.env) } : undefined,
    listen: addressIn({ isBackground, socket, port: { kind: 'port', host, port, access, policies } }),
    reference: flags.has('openapi'),
    tools,
    async findDaemon(): Promise<Client> {
      const own = await findDaemon();
      if (own === undefined) throw unavailable('the daemon is shutting down');
      return own;
    },
    stop,
    signal: ended.signal,
  });
  // Once it is open, its listener keeps the process alive. Its end need not wait for an engine that is gone.
  await using daemon = await staysAwake(opening);
  await announce(daemon, out);
  onReady();
  await untilAborted(ended.signal);
  log.info('daemon ends');
  if (ended.signal.reason !== asked) throw ended.signal.reason;
}

/** Keeps the process alive during work: Node.js ends a process that only waits for an engine, for example. */
async function staysAwake<Result>(work: Promise<Result>): Promise<Result> {
  const timer = setInterval(() => {}, 60_000);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

/** Where the API listens besides the daemon's own socket. */
function addressIn(given: {
  isBackground: boolean;
  socket: string | undefined;
  port: ApiAddress;
}): ApiAddress | undefined {
  if (given.socket !== undefined) return { kind: 'socket', path: given.socket };
  return given.isBackground ? undefined : given.port;
}

/** How long a background daemon without workloads and requests stays, unless the environment says otherwise. */
const defaultIdleMs = 15 * 60_000;

function idleLimit(env: NodeJS.ProcessEnv): number {
  const text = env['TOOLHIVE_IDLE_TIMEOUT'] ?? '';
  const idleMs = text === '' ? defaultIdleMs : millisecondsOf(text);
  if (idleMs !== undefined) return idleMs;
  throw invalid(`TOOLHIVE_IDLE_TIMEOUT is not a duration: ${JSON.stringify(text)}`, {
    hint: 'use a duration such as 15m or 1h. 0 keeps the daemon running',
  });
}

/** What callers of the API may do, as a file of policies says. */
async function policiesFrom(flags: FlagValues, access: Access | undefined): Promise<ApiPolicies | undefined> {
  const file = flags.text('authz-config');
  if (file === undefined) return undefined;
  if (access === undefined || flags.text('socket') !== undefined) {
    throw invalid('--authz-config requires authentication', {
      hint: 'listen on a port, and add --token-file or --oidc-issuer',
    });
  }
  // They act for their callers with the rights of the user of this daemon.
  if (flags.has('experimental-mcp'))
    throw invalid('--experimental-mcp does not apply the policies in --authz-config', {
      hint: 'omit one of them',
    });
  const { ApiPolicies } = await import('@toolhive/access/api-policies');
  const { readAuthzFile } = await import('@toolhive/access/authz-file');
  return ApiPolicies.open(await readAuthzFile(resolve(file)), apiActions);
}

/** The endpoint and access rules of ToolHive's tools: the same callers as for the API. */
async function toolsFrom(flags: FlagValues, note: (text: string) => void): Promise<ToolsAddress> {
  const host = flags.text('experimental-mcp-host') ?? 'localhost';
  const check = await accessFor(flags, { host, what: 'the tools', note });
  return { host, port: portFrom(flags, 'experimental-mcp-port'), access: check && { check } };
}

/**
 * A daemon that ends no longer answers commands, but still owns the state directory. Throws `conflict` if the other one
 * answers, because it keeps running.
 */
function openAfterOther(options: CoreOptions, signal: AbortSignal): Promise<Core> {
  let isWaiting = false;
  return untilItEnds(
    () =>
      openCore(options).catch(async (error: unknown) => {
        if ((await findDaemon()) !== undefined) throw error;
        retryOnConflict(error);
        if (!isWaiting) options.log.info('waiting for the end of another daemon, which no longer answers');
        isWaiting = true;
        return undefined;
      }),
    signal,
  );
}

function untilItEnds(open: () => Promise<Core | undefined>, signal: AbortSignal): Promise<Core> {
  return waitUntil(open, { timeoutMs: takeOverMs, signal, what: 'the other daemon to end' });
}

/** A background daemon gives way to a daemon in the foreground. */
async function openOrTakeOver(
  options: CoreOptions,
  note: (text: string) => void,
  signal: AbortSignal,
): Promise<Core> {
  try {
    return await openCore(options);
  } catch (error) {
    const other = error instanceof ThvError && error.kind === 'conflict' ? await findDaemon() : undefined;
    if (other === undefined) throw error;
    const { pid, background } = await other.getDaemon({});
    if (!background) {
      throw conflict(`a daemon is already running in the foreground, as process ${pid}`, {
        hint: 'use that daemon, or stop it first',
      });
    }
    note('taking over from the daemon that runs already');
    await other.stopDaemon({});
    return untilItEnds(() => openCore(options).catch(retryOnConflict), signal);
  }
}

function retryOnConflict(error: unknown): undefined {
  if (error instanceof ThvError && error.kind === 'conflict') return undefined;
  throw error;
}

async function announce({ core, addresses }: Daemon, out: Out): Promise<void> {
  if (addresses === undefined) return;
  const { chosen, runtimes } = await core.runtimes.check();
  const workloads = core.workloads.all().length;
  const detail = runtimes.find(({ runtime }) => runtime === chosen)?.detail;
  const lines = [
    `ToolHive ${version}`,
    `  API        ${addresses.api}`,
    `  OpenAPI    ${addresses.openapi}`,
    ...(addresses.reference === undefined ? [] : [`  Reference  ${addresses.reference}`]),
    ...(addresses.ui === undefined ? [] : [`  Web UI     ${addresses.ui}`]),
    `  Health     ${addresses.health}`,
    `  CLI        ${addresses.socket}`,
    ...(addresses.tools === undefined ? [] : [`  Tools      ${addresses.tools}`]),
    `  Servers    ${chosen === null ? 'cannot run: see `thv runtime check`' : `${chosen}: ${detail}`}`,
    `  Workloads  ${workloads}`,
  ];
  out.record({ version, ...addresses, runtime: chosen, workloads }, lines.join('\n'));
}
