import { replyText } from '../http/reply.ts';
import type { Middleware } from './middleware.ts';

/** Answers with 500 if anything further in throws, so that a bug costs one request and not the daemon. */
export function recovery({ onFault }: { onFault: (error: unknown) => void }): Middleware {
  return {
    request({ request, response }, next) {
      const recover = (error: unknown): void => {
        onFault(error);
        if (!response.writableEnded) replyText(response, 500, 'internal server error');
      };
      // Code that runs after this call, such as the body reader, emits its exceptions.
      request.on('fault', recover);
      try {
        next();
      } catch (error) {
        recover(error);
      }
    },
  };
}
