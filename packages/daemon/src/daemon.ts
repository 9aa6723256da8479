import { resolve } from 'node:path';
import { watchNewcomers } from '@toolhive/adoption/newcomers';
import type { Access } from '@toolhive/access/access';
import type { ApiPolicies } from '@toolhive/access/api-policies';
import { createApi } from '@toolhive/api/api';
import type { DaemonSocket } from '@toolhive/api/api';
import { listenOnSocket, listenOnTcp } from '@toolhive/api/listen';
import { openSite } from '@toolhive/api/site';
import type { Site } from '@toolhive/api/site';
import type { ApiTelemetry } from '@toolhive/api/telemetry';
import { uiPath } from '@toolhive/api/ui';
import { UiSessions } from '@toolhive/api/ui-sessions';
import type { Client } from '@toolhive/contract/client';
import { messageOf } from '@toolhive/contract/failure';
import { apiBase } from '@toolhive/contract/wire';
import { openControl } from '@toolhive/control/control';
import type { Control, ControlOptions } from '@toolhive/control/control';
import type { Core } from '@toolhive/core/core';
import { makePrivateDirectory } from '@toolhive/state/private-directory';
import type { Logger } from 'pino';
import { UiListener } from './ui-listener.ts';
import { untilUnused } from './unused.ts';

/** Where the API listens besides the daemon's own socket. */
export type ApiAddress =
  | { kind: 'socket'; path: string }
  | {
      kind: 'port';
      host: string;
      port: number;
      /** Without it, everyone who reaches the port may call the API. */
      access: Access | undefined;
      /** The rights of callers. By default, all. */
      policies: ApiPolicies | undefined;
    };

/** The endpoint of ToolHive's own MCP tools, and who may call them. */
export type ToolsAddress = Pick<ControlOptions, 'host' | 'port' | 'access'>;

export interface DaemonOptions {
  version: string;
  env: NodeJS.ProcessEnv;
  log: Logger;
  /** Opens the core, which no other daemon of this user has open. */
  openCore: () => Promise<Core>;
  /** How long a background daemon stays without being used. 0 is forever. A daemon in the foreground has no limit. */
  background: { idleMs: () => number } | undefined;
  /** A background daemon has its own socket only. */
  listen: ApiAddress | undefined;
  /** Whether the API serves its own reference. */
  reference: boolean;
  tools: ToolsAddress | undefined;
  /** Finds the running daemon, which is this one, for the tools. */
  findDaemon: () => Promise<Client>;
  /** Ends the daemon. Called for a request to stop, and when a background daemon is unused. */
  stop: () => void;
  /** Aborts when the daemon ends. */
  signal: AbortSignal;
}

/** A daemon that serves requests. Disposal also ends its workloads. */
export interface Daemon extends AsyncDisposable {
  core: Core;
  /** The addresses for users, some of which may be missing. */
  addresses:
    | {
        api: string;
        openapi: string;
        reference: string | undefined;
        ui: string | undefined;
        health: string;
        socket: string;
        tools: string | undefined;
      }
    | undefined;
}

/** Opens the core, the API, the web UI, and the other listeners. */
export async function openDaemon(options: DaemonOptions): Promise<Daemon> {
  const { version, log, background, stop } = options;
  await using opened = new AsyncDisposableStack();
  const core = opened.use(await options.openCore());
  const sessions = new UiSessions();
  const ui = opened.use(new UiListener(core, sessions));
  const telemetry = await telemetryFor(core, options);
  if (telemetry !== undefined) opened.use(telemetry);
  const { socket, sharedSocketDirectory: shared } = core.paths;
  const restoreDirectory = shared === undefined ? undefined : () => makePrivateDirectory(shared);
  await restoreDirectory?.();
  const own = {
    daemon: { pid: process.pid, background: background !== undefined },
    stop,
    openUi: () => ui.open(),
  };
  const api = createApi(core, { listener: own, telemetry });
  const listener = opened.use(await listenOnSocket(api, socket, { restoreDirectory }));
  if (background !== undefined) {
    const watched = { core, listeners: [listener, ui], ...background, signal: options.signal };
    endWhenUnused(watched, log, stop).catch((error: unknown) =>
      log.error({ err: error }, 'the daemon will not end when it is unused'),
    );
  }
  watchNewcomers(core, options.signal).catch((error: unknown) =>
    log.error({ err: error }, 'client files are no longer watched'),
  );
  const base = await listenMore(options, { core, own, telemetry, sessions, ui, opened });
  const control =
    options.tools === undefined ? undefined : opened.use(await openTools(options.tools, options));
  const addresses = base === undefined ? undefined : addressesOf(base, options, socket, control?.url);
  log.info({ version, socket }, 'daemon runs');
  const everything = opened.move();
  return { core, addresses, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

interface Parts {
  core: Core;
  own: DaemonSocket;
  telemetry: ApiTelemetry | undefined;
  sessions: UiSessions;
  ui: UiListener;
  opened: AsyncDisposableStack;
}

/** Listens where the user wants, and returns the base of the addresses. */
async function listenMore(
  { listen, reference }: DaemonOptions,
  { core, own, telemetry, sessions, ui, opened }: Parts,
): Promise<string | undefined> {
  if (listen === undefined) return undefined;
  if (listen.kind === 'socket') {
    const path = resolve(listen.path);
    opened.use(await listenOnSocket(createApi(core, { listener: own, reference, telemetry }), path));
    return `unix:${path}`;
  }
  const { host, access } = listen;
  const api = createApi(core, {
    listener: listen,
    site: documentation(),
    ...ui.site(),
    uiSessions: sessions,
    reference,
    telemetry,
  });
  const { port } = opened.use(await listenOnTcp(api, listen));
  ui.use({ host, port, isGuarded: access !== undefined });
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function addressesOf(
  base: string,
  { reference }: DaemonOptions,
  socket: string,
  tools: string | undefined,
): NonNullable<Daemon['addresses']> {
  return {
    api: `${base}${apiBase}`,
    openapi: `${base}/api/openapi.json`,
    reference: reference ? `${base}/api/doc` : undefined,
    ui: base.startsWith('http') ? `${base}${uiPath}` : undefined,
    health: `${base}/health`,
    socket,
    tools,
  };
}

/** Traces and measures the API as the settings say. A setting that is wrong does not keep the daemon from running. */
async function telemetryFor(
  core: Core,
  { version, log, env }: DaemonOptions,
): Promise<ApiTelemetry | undefined> {
  try {
    if (core.settings.current.otel === undefined) return undefined;
    const { apiTelemetryOptions } = await import('@toolhive/core/api-telemetry');
    const options = apiTelemetryOptions(core.settings.current, { version, env, log });
    if (options === undefined) return undefined;
    const { openApiTelemetry } = await import('@toolhive/api/telemetry');
    return await openApiTelemetry(options);
  } catch (error) {
    log.warn({ why: messageOf(error) }, 'the API is not traced and measured');
    return undefined;
  }
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

function openTools(tools: ToolsAddress, { version, findDaemon, log }: DaemonOptions): Promise<Control> {
  return openControl({
    ...tools,
    version,
    daemon: findDaemon,
    onFault: (error) => log.error({ err: error }, 'unexpected failure'),
  });
}
