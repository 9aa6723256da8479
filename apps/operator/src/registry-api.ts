import { parseArgs } from 'node:util';
import { createRegistryApi } from '@toolhive/api/registry-api';
import { listenOnTcp } from '@toolhive/api/listen';
import { invalid, messageOf } from '@toolhive/contract/failure';
import { FileSource } from '@toolhive/registry/file-source';
import { Hono } from 'hono';
import pino from 'pino';
import type { Logger } from 'pino';

/** The registry server's settings. */
export interface RegistryServerOptions {
  /** The absolute path of the registry. */
  path: string;
  /** The registry name, for logs. */
  name: string;
  host: string;
  port: number;
  version: string;
  log: Logger;
}

/** A listening registry server. */
export interface RegistryServer extends AsyncDisposable {
  port: number;
}

/** Parses `serve --from-file=PATH --registry-name=NAME [--address [HOST]:PORT]`. Throws `invalid`. */
export function parseCommand(
  words: readonly string[],
): Pick<RegistryServerOptions, 'path' | 'name' | 'host' | 'port'> {
  const { values, positionals } = parse(words);
  const { 'from-file': path, 'registry-name': name, address = ':8080' } = values;
  const [command, extra] = positionals;
  if (command !== 'serve') throw invalid(`unknown command ${command ?? '(none)'}`, { hint: 'use serve' });
  if (extra !== undefined) throw invalid(`unexpected argument ${extra}`);
  if (!path?.startsWith('/')) throw invalid('--from-file is required and must be an absolute path');
  if (!name) throw invalid('--registry-name is required');
  const [, host = '', digits = ''] = /^(.*):(\d{1,5})$/.exec(address) ?? [];
  const port = Number(digits);
  if (digits === '' || port > 65_535) throw invalid(`invalid --address ${address}: use [HOST]:PORT`);
  return { path, name, host: host.replace(/^\[(.*)\]$/, '$1') || '0.0.0.0', port };
}

function parse(words: readonly string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...words],
      allowPositionals: true,
      options: { 'from-file': text, 'registry-name': text, address: text },
    });
  } catch (error) {
    throw invalid(messageOf(error), { cause: error });
  }
}

/**
 * Serves the registry in a file through the MCP registry's API, with `/health` and `/readiness`. Reads the file again
 * after each change. An invalid file leaves the previous content in place.
 */
export async function serveRegistry({
  path,
  name,
  host,
  port,
  version,
  log,
}: RegistryServerOptions): Promise<RegistryServer> {
  const source = await FileSource.open({
    path,
    log,
    now: () => new Date(),
    onChange: () => log.info({ registry: name, problem: source.state.problem }, 'registry changed'),
  });
  const app = new Hono();
  app.get('/health', (context) => context.json({ status: 'ok' }));
  app.get('/readiness', (context) => {
    const { isUnread, problem } = source.state;
    return isUnread
      ? context.json({ status: 'unavailable', error: problem }, 503)
      : context.json({ status: 'ready' });
  });
  app.route(
    '/',
    createRegistryApi({
      read: async () => (source.state.isUnread ? undefined : source.state.registry),
      version,
      log,
    }),
  );
  const listener = await listenOnTcp(app, { host, port });
  log.info({ registry: name, port: listener.port }, 'serving the registry');
  return {
    port: listener.port,
    async [Symbol.asyncDispose]() {
      await listener[Symbol.asyncDispose]();
      await source[Symbol.asyncDispose]();
    },
  };
}

/** Runs the program until SIGTERM or SIGINT. */
export async function main(words: readonly string[], version: string): Promise<void> {
  const log = pino();
  try {
    const server = await serveRegistry({ ...parseCommand(words), version, log });
    const stop = (): void => {
      server[Symbol.asyncDispose]().then(undefined, (error: unknown) => log.error(messageOf(error)));
    };
    process.once('SIGTERM', stop);
    process.once('SIGINT', stop);
  } catch (error) {
    log.fatal(messageOf(error));
    process.exitCode = 1;
  }
}
