import { chmod, lstat, mkdir, rename, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { basename, dirname, join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { conflict, invalid, messageOf } from '@toolhive/contract/failure';
import { serveConnections } from '@toolhive/proxy/connections';
import type { ConnectionLimits } from '@toolhive/proxy/connections';
import type { Hono } from 'hono';
import { defaultLimits, faultResponse } from './connections.ts';
import { fixedHeaders } from './guards.ts';

/** An open listener; disposing of it ends its connections. */
export interface Listener extends AsyncDisposable {
  /** The TCP port that it got. */
  port: number;
  /** How long no connection was open. */
  idleMs(): number;
}

/** Serves an application on a TCP address. */
export async function listenOnTcp(
  app: Hono,
  { host, port }: { host: string; port: number },
  limits: ConnectionLimits = defaultLimits,
): Promise<Listener> {
  const server = serverOf(app, limits);
  await opened(server, { host, port }).catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') {
      throw conflict(`port ${port} on ${host} is in use by another program`, {
        hint: 'choose another with --port',
        cause: error,
      });
    }
    throw invalid(`cannot listen on ${host} port ${port}: ${messageOf(error)}`, { cause: error });
  });
  return listenerOf(server);
}

interface SocketOptions {
  /** Creates the directory of the socket again if it was removed. By default, nothing does. */
  restoreDirectory?: (() => Promise<void>) | undefined;
  checkMs?: number;
}

/**
 * Serves an application on a Unix socket that only this user can open. An existing socket file is
 * left over, because only the owner of the state directory gets here. If a clean-up removes the file, it is created again.
 */
export async function listenOnSocket(
  app: Hono,
  path: string,
  { restoreDirectory = async () => {}, checkMs = socketCheckMs }: SocketOptions = {},
): Promise<Listener> {
  if (process.platform === 'win32') {
    const server = serverOf(app, defaultLimits);
    await opened(server, { path }); // a named pipe, which is not a file
    return listenerOf(server);
  }
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const listeners = [await bindSocket(app, path)];
  const restore = async (): Promise<void> => {
    if (await isThere(path)) return;
    await restoreDirectory();
    // Earlier ones keep the connections that are open.
    listeners.push(await bindSocket(app, path));
  };
  let restoring = Promise.resolve();
  const timer = setInterval(() => {
    restoring = restoring.then(restore).catch(() => {}); // tried again
  }, checkMs).unref();
  return {
    port: 0,
    idleMs: () => Math.min(...listeners.map((listener) => listener.idleMs())),
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await restoring;
      await Promise.all(listeners.map((listener) => listener[Symbol.asyncDispose]()));
      await rm(path, { force: true }); // the server removes only the path that it has bound
    },
  };
}

/** How often it is looked for the file of a socket. */
const socketCheckMs = 5_000;

/** Whether a file exists. A directory that cannot be read for a moment counts as one with the file. */
async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  );
}

async function bindSocket(app: Hono, path: string): Promise<Listener> {
  const server = serverOf(app, defaultLimits);
  // Until the mode is set, this directory protects the socket. The name is fixed, so that the next start removes
  // remains of a killed daemon, and the path is not longer than the final path, which fits into an address.
  const own = join(dirname(path), basename(path, '.sock'));
  await rm(own, { recursive: true, force: true });
  await mkdir(own, { mode: 0o700 });
  try {
    const bound = join(own, 's');
    await opened(server, { path: bound });
    await chmod(bound, 0o600);
    await rename(bound, path);
  } finally {
    await rm(own, { recursive: true, force: true });
  }
  return listenerOf(server);
}

function serverOf(app: Hono, limits: ConnectionLimits): Server {
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false, errorHandler });
  const server = createServer({
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: Math.min(limits.headersMs, checkingMs),
    requireHostHeader: false, // Node's answer to that would not be in our words
  });
  server.maxHeadersCount = 0; // their size is bounded, and dropped headers could not be checked
  serveConnections(server, limits, {
    answer: (request, response) => {
      Promise.resolve(listener(request, response)).catch(() => response.destroy());
    },
    headers: fixedHeaders,
  });
  return server;
}

/** How often it is looked for connections that are too slow. */
const checkingMs = 1_000;

/** The name of the adapter's error for input that is not a request, such as an invalid host. */
function errorHandler(error: unknown): Response {
  return faultResponse(error instanceof Error && error.name === 'RequestError' ? 400 : 500);
}

async function opened(
  server: Server,
  where: { host: string; port: number } | { path: string },
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(where, resolve);
  await promise;
  server.off('error', reject);
  server.on('error', () => {}); // one connection could not be accepted (too many open files), and the next client can try again
}

function listenerOf(server: Server): Listener {
  const address = server.address();
  let open = 0;
  let sinceMs = performance.now();
  server.on('connection', (socket) => {
    open += 1;
    socket.once('close', () => {
      open -= 1;
      sinceMs = performance.now();
    });
  });
  return {
    idleMs: () => (open > 0 ? 0 : performance.now() - sinceMs),
    port: typeof address === 'object' && address !== null ? address.port : 0,
    async [Symbol.asyncDispose]() {
      const { promise, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      server.closeIdleConnections();
      // Pending responses get a moment to complete. Streams would never end.
      const insist = setTimeout(() => server.closeAllConnections(), 500);
      await promise;
      clearTimeout(insist);
    },
  };
}
