import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { invalid } from '@toolhive/contract/failure';

/** The ports that proxies are given, and how often to try before the range counts as full. */
const firstPort = 10_000;
const lastPort = 65_535;
const attempts = 100;

/**
 * A port for a proxy: the one that was asked for if it can be had, else a free one. It is claimed before it is looked
 * at, or two that look at the same time would both get it.
 */
export async function choosePort(
  host: string,
  asked: number | undefined,
  claim: (port: number) => boolean,
): Promise<number> {
  if (asked) {
    if (claim(asked) && (await isFree(host, asked))) return asked;
    throw invalid(`port ${asked} is in use`, { hint: 'leave the port out to have a free one chosen' });
  }
  for (let attempt = 0; attempt < attempts; attempt++) {
    const port = randomInt(firstPort, lastPort + 1);
    if (claim(port) && (await isFree(host, port))) return port;
  }
  throw invalid(`no free port was found on ${host}`);
}

/** Throws when nothing can listen on `host` here. */
export async function requireOwnAddress(host: string): Promise<void> {
  await isFree(host, 0);
}

async function isFree(host: string, port: number): Promise<boolean> {
  const probe = createServer();
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  probe.once('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EADDRINUSE' || code === 'EACCES') resolve(false);
    else
      reject(
        invalid(`${JSON.stringify(host)} is not an address of this machine`, {
          hint: 'leave the host out to listen on loopback',
        }),
      );
  });
  probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(true)));
  return promise;
}
