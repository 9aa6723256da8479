import type { Responder } from '../connection/responder.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { MessagePipeline } from '../middleware/message-pipeline.ts';
import type { Session } from './session.ts';

/** Passes a request or a notification of a legacy client through the middleware, and then to `route`. */
export function admit(
  messages: MessagePipeline,
  session: Session,
  received: Message,
  responder: Responder,
  route: (message: Message, responder: Responder) => void,
): void {
  if (messages.isEmpty) return route(received, responder);
  if (received.kind === 'request') {
    const admitted = session.beginAdmission();
    const proceed = (request: Message, guarded: Responder): void => {
      try {
        route(request, guarded);
      } finally {
        admitted();
      }
    };
    return messages.request(session.caller, received, responder, proceed, admitted);
  }
  // A cancellation must not overtake the request that it cancels.
  session.afterAdmission(() =>
    messages.toServer(session.caller, received, undefined, (outcome) => {
      if (outcome.kind !== 'refusal') route(outcome, responder);
    }),
  );
}
