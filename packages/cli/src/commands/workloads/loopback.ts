import { request } from 'node:http';
import { createServer } from 'node:net';

/** Whether nothing on this machine's loopback listens on a port. */
export async function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once('error', () => resolve(false));
  server.listen({ host: '127.0.0.1', port }, () => server.close(() => resolve(true)));
  return promise;
}

/** Whether a page answers. */
export async function answersAt(url: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const asked = request(url, { agent: false, timeout: 5_000 }, (response) => {
    response.resume();
    resolve(response.statusCode === 200);
  });
  asked.once('timeout', () => asked.destroy());
  asked.once('error', () => resolve(false));
  asked.end();
  return promise;
}
