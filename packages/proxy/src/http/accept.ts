import type { IncomingMessage } from 'node:http';

/** Whether a client accepts an event stream as the answer (HTML, section 9.2). */
export function takesEvents({ headers }: IncomingMessage): boolean {
  return headers.accept?.includes('text/event-stream') === true;
}
