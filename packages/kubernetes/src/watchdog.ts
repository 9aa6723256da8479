import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

/** How often the client asks a connection for a sign of life. */
export const PING_MS = 10_000;
/** A connection is dead after so many unanswered pings. */
const MAX_UNANSWERED = 2;

/** Whether a connection speaks HTTP/2, whose peers answer pings. */
export function answersPings(socket: Socket): boolean {
  return (socket as Partial<TLSSocket>).alpnProtocol === 'h2';
}

/**
 * Ends a connection whose peer does not answer pings, because it is half-open. Without pings, an idle watch would look like
 * a dead one. The HTTP/2 client sends the pings, and any byte is an answer.
 */
export function watchOver(socket: Socket): void {
  let read = socket.bytesRead;
  let unanswered = 0;
  const timer = setInterval(() => {
    unanswered = socket.bytesRead === read ? unanswered + 1 : 0;
    read = socket.bytesRead;
    // The first interval can be over before the first ping has been answered.
    if (unanswered > MAX_UNANSWERED) socket.destroy(new Error('the API server does not answer'));
  }, PING_MS);
  timer.unref();
  socket.once('close', () => clearInterval(timer));
}
