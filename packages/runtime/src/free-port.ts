import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { invalid } from '@toolhive/contract/failure';

/**
 * The ports to choose from, and how often to try before they count as full. They end where the first of the systems
 * begins to give its own to connections that go out (Linux at 32768): one of those would sooner or later be in use when
 * a server comes back after a stop.
 */
const firstPort = 10_000;
const lastPort = 32_767;
const attempts = 100;
/** Browsers and `fetch` refuse to connect to this port (Fetch Standard, Port blocking). The others are smaller or larger. */
const blockedPort = 10_080;

/** Returns a free port that `claim` accepts. `claim` is called first, because two searches may run at the same time. */
export async function freePort(
  host = '127.0.0.1',
  claim: (port: number) => boolean = () => true,
): Promise<number> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const port = randomInt(firstPort, lastPort + 1);
    if (port !== blockedPort && claim(port) && (await isFreePort(host, port))) return port;
  }
  throw invalid(`no free port was found on ${host}`);
}

/** Whether a port is free now. Throws if nothing can listen on `host`. */
export async function isFreePort(host: string, port: number): Promise<boolean> {
  const probe = createServer();
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  probe.once('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EADDRINUSE' || code === 'EACCES') resolve(false);
    else
      reject(
        invalid(`${JSON.stringify(host)} is not an address of this machine`, {
          hint: 'omit the host to listen on the loopback address',
        }),
      );
  });
  probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(true)));
  return promise;
}
