import type { IncomingMessage, ServerResponse } from 'node:http';
import { hostAndOrigin } from './middleware/host-and-origin.ts';
import { recovery } from './middleware/recovery.ts';

/** One request on its way through a workload's proxy. */
export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  /** The path without the query. */
  path: string;
  /** What follows the question mark. */
  query: string;
}

/** Knows one concern: passes the exchange on by calling `next`, or answers it and does not. */
export type Middleware = (exchange: Exchange, next: () => void) => void;

/** What middleware may be configured with. */
export interface PipelineOptions {
  /** Names beside the loopback ones that clients may use for this listener. */
  allowedHosts: readonly string[];
  /** Told of bugs, which callers are not. */
  onFault: (error: unknown) => void;
}

interface MiddlewareRow {
  type: string;
  make: (options: PipelineOptions) => Middleware;
}

/** Every middleware, the outermost first. A new one is a file in `middleware/` and a row here. */
const pipeline: readonly MiddlewareRow[] = [
  { type: 'recovery', make: recovery },
  { type: 'host-and-origin', make: hostAndOrigin },
];

/** The whole pipeline as one function around `handle`. */
export function compose(
  options: PipelineOptions,
  handle: (exchange: Exchange) => void,
): (exchange: Exchange) => void {
  return pipeline.reduceRight<(exchange: Exchange) => void>((inner, { make }) => {
    const middleware = make(options);
    return (exchange) => middleware(exchange, () => inner(exchange));
  }, handle);
}
