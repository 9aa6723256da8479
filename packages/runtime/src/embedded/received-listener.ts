import type { Server, Socket } from 'node:net';

/** Accepts the connections of a listening socket that this program received from the daemon. */
export function acceptFrom(listener: unknown, take: (outer: Socket) => void): void {
  const server = listener as Server & { allowHalfOpen: boolean }; // sent by `PublishedSocket`
  server.allowHalfOpen = true;
  server.on('error', () => {}); // one connection could not be accepted
  server.on('connection', (outer) => {
    outer.on('error', () => {});
    take(outer);
  });
}
