import { setImmediate } from 'node:timers/promises';
import type {
  JSONRPCMessage,
  SSEClientTransport,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';

/**
 * Gives the client each message in a separate turn of the event loop. The official client forgets the listener of a call
 * with its result, and calls listeners a moment later, so it loses progress that arrives in one read with the result.
 */
export function deliverOneByOne(transport: SSEClientTransport | StreamableHTTPClientTransport): void {
  const { onmessage: receive } = transport;
  let delivered = Promise.resolve();
  Object.assign(transport, {
    onmessage(message: JSONRPCMessage) {
      delivered = delivered.then(() => receive?.(message)).then(() => setImmediate());
    },
  });
}
