import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { openAccess } from '@toolhive/api/access';
import type { Access, OidcOptions } from '@toolhive/api/access';
import { createApi } from '@toolhive/api/api';
import { listenOnSocket, listenOnTcp } from '@toolhive/api/listen';
import { openCore } from '@toolhive/core/core';
import type { Core, CoreOptions } from '@toolhive/core/core';
import { ThvError, conflict, invalid, messageOf } from '@toolhive/contract/failure';
import { waitUntil } from '../wait.ts';
import type { CommandCall, FlagValues } from '../command.ts';
import { findHive } from '../hive.ts';
import { openLog } from '../log.ts';
import { version } from '../version.ts';

/** How long a hive in the background gets to end before this one gives up taking over. */
const takeOverMs = 30_000;

/** Runs the hive until it is told to end. */
export async function run({ flags, out, signal }: CommandCall): Promise<void> {
  const isBackground = flags.has('background');
  const log = openLog({ debug: flags.has('debug'), json: isBackground });
  // No bug in one workload may end the others; what it was stands in the log.
  process.on('uncaughtException', (error) =>
    log.error({ err: error, reason: messageOf(error) }, 'uncaught failure'),
  );
  const ended = new AbortController();
  const stop = (): void => ended.abort();
  signal.addEventListener('abort', stop, { once: true });

  const access = await accessFor(flags);
  const options = { env: process.env, version, log };
  await using hive = new AsyncDisposableStack();
  const core = hive.use(
    isBackground ? await openCore(options) : await openOrTakeOver(options, out.note, signal),
  );
  const own = { hive: { pid: process.pid, background: isBackground }, stop };
  hive.use(await listenOnSocket(createApi(core, { listener: own }), core.paths.socket));
  const socket = flags.text('socket');
  if (socket !== undefined) {
    hive.use(await listenOnSocket(createApi(core, { listener: own }), resolve(socket)));
    await announce(core, out.line, `unix:${resolve(socket)}`);
  } else if (!isBackground) {
    const host = flags.text('host') ?? '127.0.0.1';
    const address = { host, port: flags.number('port') ?? 8080, access };
    const listener = hive.use(await listenOnTcp(createApi(core, { listener: address }), address));
    if (access === undefined && !isLoopback(host)) out.note(`WARNING: ${openToAll(host)}`);
    await announce(core, out.line, `http://${host.includes(':') ? `[${host}]` : host}:${listener.port}`);
  }
  log.info({ version, socket: core.paths.socket }, 'hive runs');
  await new Promise<void>((done) => {
    if (ended.signal.aborted) done();
    ended.signal.addEventListener('abort', () => done(), { once: true });
  });
  log.info('hive ends');
}

/** Who may call over TCP. Beyond this machine that is nobody in particular only if somebody says so. */
async function accessFor(flags: FlagValues): Promise<Access | undefined> {
  const host = flags.text('host') ?? '127.0.0.1';
  const access = openAccess({ token: await readToken(flags.text('token-file')), oidc: oidcFrom(flags) });
  if (
    access === undefined &&
    !isLoopback(host) &&
    flags.text('socket') === undefined &&
    !flags.has('insecure-no-auth')
  ) {
    throw invalid(openToAll(host), {
      hint: 'give --token-file or --oidc-issuer; or --insecure-no-auth, if that is what you want',
    });
  }
  return access;
}

function openToAll(host: string): string {
  return `the API on ${host} would let everybody who reaches it run programs on this machine`;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d+){3}$/.test(host);
}

async function readToken(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return process.env['TOOLHIVE_API_TOKEN'];
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (cause) {
    throw invalid(`the token file ${path} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

function oidcFrom(flags: FlagValues): OidcOptions | undefined {
  const options = {
    issuer: flags.text('oidc-issuer'),
    jwksUrl: flags.text('oidc-jwks-url'),
    introspectionUrl: flags.text('oidc-introspection-url'),
    clientId: flags.text('oidc-client-id'),
    clientSecret: flags.text('oidc-client-secret') ?? process.env['TOOLHIVE_OIDC_CLIENT_SECRET'],
  };
  const audience = flags.text('oidc-audience');
  const asked = [options.issuer, options.jwksUrl, options.introspectionUrl, audience];
  return asked.some((value) => value !== undefined) ? { ...options, audience: audience ?? '' } : undefined;
}

/** A hive that was started in the background gives way to one that somebody wants to see. */
async function openOrTakeOver(
  options: CoreOptions,
  note: (text: string) => void,
  signal: AbortSignal,
): Promise<Core> {
  try {
    return await openCore(options);
  } catch (error) {
    const other = error instanceof ThvError && error.kind === 'conflict' ? await findHive() : undefined;
    if (other === undefined) throw error;
    const { pid, background } = await other.getHive({});
    if (!background) {
      throw conflict(`a hive runs in the foreground already, as process ${pid}`, {
        hint: 'use that one, or end it first',
      });
    }
    note('taking over from the hive that runs already');
    await other.stopHive({});
    return waitUntil(() => openCore(options).catch(retryOnConflict), {
      timeoutMs: takeOverMs,
      signal,
      what: 'the other hive to end',
    });
  }
}

function retryOnConflict(error: unknown): undefined {
  if (error instanceof ThvError && error.kind === 'conflict') return undefined;
  throw error;
}

async function announce(core: Core, line: (text: string) => void, base: string): Promise<void> {
  const { chosen, runtimes } = await core.runtimes.check();
  line(`ToolHive ${version}`);
  line(`  API        ${base}/api/v1beta`);
  line(`  OpenAPI    ${base}/api/openapi.json`);
  line(`  Health     ${base}/health`);
  line(`  CLI        ${core.paths.socket}`);
  const detail = runtimes.find(({ runtime }) => runtime === chosen)?.detail;
  line(`  Servers    ${chosen === null ? 'cannot run: see `thv runtime check`' : `${chosen}: ${detail}`}`);
  line(`  Workloads  ${core.workloads.all().length}`);
}
