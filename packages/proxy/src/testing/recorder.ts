import type { CallContext, Middleware } from '../middleware/middleware.ts';

/** A message as the middleware saw it. */
export interface Recorded {
  direction: CallContext['direction'];
  kind: 'request' | 'response' | 'notification';
  /** Of the message, or of the request that it answers. */
  method: string | undefined;
  principal: string;
  session: string | undefined;
  workload: string;
}

/** Records all messages of a proxy: all that a new middleware needs beside its row. */
export function recorder(records: Recorded[]): Middleware {
  return {
    message({ direction, message, request, principal, session, workload }) {
      records.push({
        direction,
        kind: message.kind,
        method: message.value.method ?? request?.value.method,
        principal: principal.id,
        session,
        workload,
      });
      return message;
    },
  };
}
