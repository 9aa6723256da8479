import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import type { ListenOptions } from 'node:net';

/** Ports that neither ToolHive (from 10000) nor the system (Linux from 32768) gives away, and that browsers permit. */
const firstPort = 7_100;
const lastPort = 7_999;

/**
 * Returns a free port for a program that listens on it a moment later. No other caller gets it before this process ends,
 * whatever process that caller is in.
 */
export async function testPort(): Promise<number> {
  for (;;) {
    const port = randomInt(firstPort, lastPort + 1);
    if ((await isClaimed(port)) && (await canListen({ host: '0.0.0.0', port, exclusive: true }))) return port;
  }
}

/**
 * Claims a port by the name of a socket that Linux keeps for as long as this process lives. Other systems have no such
 * names, and few test runs at a time.
 */
async function isClaimed(port: number): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  return canListen({ path: `\0toolhive-test-port-${port}` }, { isKept: true });
}

async function canListen(where: ListenOptions, { isKept = false } = {}): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const server = createServer().unref();
  server.once('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EADDRINUSE') resolve(false);
    else reject(error);
  });
  server.listen(where, () => {
    if (isKept) resolve(true);
    else server.close(() => resolve(true));
  });
  return promise;
}
