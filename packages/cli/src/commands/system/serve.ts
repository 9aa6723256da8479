import { join, resolve } from 'node:path';
import { createApi } from '@toolhive/api/api';
import { apiActions } from '@toolhive/api/authorization';
import { listenOnSocket, listenOnTcp } from '@toolhive/api/listen';
import { openSite } from '@toolhive/api/site';
import { UiSessions } from '@toolhive/api/ui-sessions';
import type { Site } from '@toolhive/api/site';
import type { ApiTelemetry } from '@toolhive/api/telemetry';
import type { Access } from '@toolhive/access/access';
import type { ApiPolicies } from '@toolhive/access/api-policies';
import { takeFault } from '@toolhive/core/containment';
import { openCore } from '@toolhive/core/core';
import type { Core, CoreOptions } from '@toolhive/core/core';
import { makePrivateDirectory } from '@toolhive/state/private-directory';
import { statePaths } from '@toolhive/state/paths';
import { openControl } from '@toolhive/control/control';
import type { Control, ControlOptions } from '@toolhive/control/control';
import type { Client } from '@toolhive/contract/client';
import { ThvError, conflict, invalid, messageOf, unavailable } from '@toolhive/contract/failure';
import { apiBase } from '@toolhive/contract/wire';
import type { Logger } from 'pino';
import { untilAborted, waitUntil } from '../../wait.ts';
import type { CommandCall, FlagValues } from '../../command.ts';
import { daemonLogFile } from '../../bounded-log.ts';
import { findDaemon } from '../../daemon.ts';
import type { Out } from '../../out.ts';
import { endOnFault } from '../../last-resort.ts';
import { openLog } from '../../log.ts';
import { version } from '../../version.ts';
import { accessFor } from '../access.ts';
import { portFrom } from '../port.ts';
import { UiListener } from './ui-listener.ts';
import { uiPath } from '@toolhive/api/ui';
import { webUi } from './ui-files.ts';
import { untilUnused } from './unused.ts';

/** The reason for a requested end. */
const asked = Symbol('asked');

/** How long a daemon in the background gets to end before this one gives up taking over. */
const takeOverMs = 30_000;

/** Runs the daemon until a signal or a request stops it, and calls `onReady` when it serves requests. */
export async function serve(
  { flags, out, signal }: CommandCall,
  { onReady }: { onReady: () => void },
): Promise<void> {
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
  await using daemon = new AsyncDisposableStack();
  const core = daemon.use(
    isBackground ? await openCore(options) : await openOrTakeOver(options, out.note, signal),
  );
  const sessions = new UiSessions();
  const ui = daemon.use(new UiListener(core, sessions));
  const own = {
    daemon: { pid: process.pid, background: isBackground },
    stop,
    openUi: () => ui.open(),
  };
  const telemetry = await telemetryFor(core, { version, log });
  if (telemetry !== undefined) daemon.use(telemetry);
  const { socket: ownSocket, sharedSocketDirectory: shared } = core.paths;
  if (shared !== undefined) await makePrivateDirectory(shared);
  const listener = daemon.use(await listenOnSocket(createApi(core, { listener: own, telemetry }), ownSocket));
  if (isBackground) {
    const listeners = [listener, ui];
    endWhenUnused({ core, listeners, env: process.env, signal: ended.signal }, log, stop).catch(
      (error: unknown) => log.error({ err: error }, 'the daemon will not end when it is unused'),
    );
  }
  const reference = flags.has('openapi');
  let base: string | undefined;
  if (socket !== undefined) {
    daemon.use(
      await listenOnSocket(createApi(core, { listener: own, reference, telemetry }), resolve(socket)),
    );
    base = `unix:${resolve(socket)}`;
  } else if (!isBackground) {
    const address = { host, port, access, policies };
    const listener = daemon.use(
      await listenOnTcp(
        createApi(core, {
          listener: address,
          site: documentation(),
          ui: webUi(),
          uiSessions: sessions,
          reference,
          telemetry,
        }),
        address,
      ),
    );
    ui.use({ host, port: listener.port, isGuarded: access !== undefined });
    base = `http://${host.includes(':') ? `[${host}]` : host}:${listener.port}`;
  }
  const control = tools === undefined ? undefined : daemon.use(await openTools(tools, log));
  if (base !== undefined) await announce(core, out, { base, reference, tools: control?.url });
  log.info({ version, socket: core.paths.socket }, 'daemon runs');
  onReady();
  await untilAborted(ended.signal);
  log.info('daemon ends');
  if (ended.signal.reason !== asked) throw ended.signal.reason;
}

/** Traces and measures the API as the settings say. A setting that is wrong does not keep the daemon from running. */
async function telemetryFor(
  core: Core,
  { version, log }: { version: string; log: Logger },
): Promise<ApiTelemetry | undefined> {
  try {
    if (core.settings.current.otel === undefined) return undefined;
    const { apiTelemetryOptions } = await import('@toolhive/core/api-telemetry');
    const options = apiTelemetryOptions(core.settings.current, { version, env: process.env, log });
    if (options === undefined) return undefined;
    const { openApiTelemetry } = await import('@toolhive/api/telemetry');
    return await openApiTelemetry(options);
  } catch (error) {
    log.warn({ why: messageOf(error) }, 'the API is not traced and measured');
    return undefined;
  }
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

/** Ends an unused background daemon. */
async function endWhenUnused(
  watched: Parameters<typeof untilUnused>[0],
  log: Logger,
  stop: () => void,
): Promise<void> {
  try {
    const reason = await untilUnused(watched);
    log.info({ reason }, 'daemon is not needed');
    stop();
  } catch (error) {
    if (!watched.signal.aborted) log.error({ err: error }, 'cannot tell whether the daemon is needed');
  }
}

/** The documentation site, if it is installed. It may also appear while the daemon runs. */
function documentation(): Site | undefined {
  const folder = process.env['TOOLHIVE_SITE'];
  return folder === undefined ? undefined : openSite(folder);
}

type Tools = Pick<ControlOptions, 'host' | 'port' | 'access'>;

/** The endpoint and access rules of ToolHive's tools: the same callers as for the API. */
async function toolsFrom(flags: FlagValues, note: (text: string) => void): Promise<Tools> {
  const host = flags.text('experimental-mcp-host') ?? 'localhost';
  const check = await accessFor(flags, { host, what: 'the tools', note });
  return { host, port: portFrom(flags, 'experimental-mcp-port'), access: check && { check } };
}

function openTools(tools: Tools, log: Logger): Promise<Control> {
  return openControl({
    ...tools,
    version,
    async daemon(): Promise<Client> {
      const own = await findDaemon();
      if (own === undefined) throw unavailable('the daemon is shutting down');
      return own;
    },
    onFault: (error) => log.error({ err: error }, 'unexpected failure'),
  });
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
    return waitUntil(() => openCore(options).catch(retryOnConflict), {
      timeoutMs: takeOverMs,
      signal,
      what: 'the other daemon to end',
    });
  }
}

function retryOnConflict(error: unknown): undefined {
  if (error instanceof ThvError && error.kind === 'conflict') return undefined;
  throw error;
}

async function announce(
  core: Core,
  out: Out,
  { base, reference, tools }: { base: string; reference: boolean; tools: string | undefined },
): Promise<void> {
  const { chosen, runtimes } = await core.runtimes.check();
  const addresses = {
    api: `${base}${apiBase}`,
    openapi: `${base}/api/openapi.json`,
    reference: reference ? `${base}/api/doc` : undefined,
    ui: base.startsWith('http') ? `${base}${uiPath}` : undefined,
    health: `${base}/health`,
    socket: core.paths.socket,
    tools,
  };
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
    ...(tools === undefined ? [] : [`  Tools      ${tools}`]),
    `  Servers    ${chosen === null ? 'cannot run: see `thv runtime check`' : `${chosen}: ${detail}`}`,
    `  Workloads  ${workloads}`,
  ];
  out.record({ version, ...addresses, runtime: chosen, workloads }, lines.join('\n'));
}
