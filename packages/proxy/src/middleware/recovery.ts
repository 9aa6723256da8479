import { replyText } from '../http/reply.ts';
import type { Middleware, PipelineOptions } from '../pipeline.ts';

/** Answers with 500 when anything further in throws, so that a bug costs one request and not the hive. */
export function recovery({ onFault }: PipelineOptions): Middleware {
  return ({ request, response }, next) => {
    const recover = (error: unknown): void => {
      onFault(error);
      if (!response.writableEnded) replyText(response, 500, 'internal server error');
    };
    // What goes on after this call, when a body has arrived, is caught by whoever reads the body.
    request.once('fault', recover);
    try {
      next();
    } catch (error) {
      recover(error);
    }
  };
}
