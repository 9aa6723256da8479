import type { IncomingMessage, ServerResponse } from 'node:http';
import { toolFilterOf } from './middleware/tool-filter.ts';
import type { ToolRules } from './middleware/tool-filter.ts';
import type { Message } from './jsonrpc/message.ts';
import type { Responder } from './connection/connection.ts';
import { authentication } from './middleware/authentication.ts';
import type { ProxyAccess } from './middleware/authentication.ts';
import { hostAndOrigin } from './middleware/host-and-origin.ts';
import type { Metrics } from './middleware/metrics.ts';
import { recovery } from './middleware/recovery.ts';

/** One request on its way through a workload's proxy. */
export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  /** The path without the query. */
  path: string;
  /** What follows the question mark. */
  query: string;
  /** What it brings, from the moment on when that has been read; absent where it is passed through unread. */
  message?: Message;
}

/** Knows one concern of requests: passes the exchange on by calling `next`, or answers it and does not. */
export type Middleware = (exchange: Exchange, next: () => void) => void;

/** A request of MCP that goes on, perhaps not as it came. */
export interface Passed {
  message: Message;
  reply: Responder;
}

/** Knows one concern of the messages that requests bring. Where there is one, no message goes past unread. */
export interface MessageMiddleware {
  /** The request as it goes on; undefined when it was answered here. */
  pass(message: Message, reply: Responder): Passed | undefined;
  /** What is called further in by this name of a tool; undefined when that is no tool for this client. */
  realName?(tool: string): string | undefined;
}

/** What middleware may be configured with. */
export interface PipelineOptions {
  /** Names beside the loopback ones that clients may use for this listener. */
  allowedHosts: readonly string[];
  /** No web page but one from this very address, rather than all that come from this machine. */
  ownOriginOnly?: boolean | undefined;
  access?: ProxyAccess | undefined;
  metrics?: Metrics | undefined;
  tools?: ToolRules | undefined;
  /** Told of bugs, which callers are not. */
  onFault: (error: unknown) => void;
}

/** A concern has to do with requests, with the messages in them, or with both. It may have nothing to do at all. */
interface MiddlewareRow {
  type: string;
  ofRequests?: (options: PipelineOptions) => Middleware | undefined;
  ofMessages?: (options: PipelineOptions) => MessageMiddleware | undefined;
}

/**
 * Every middleware, the outermost first. A new one is a file in `middleware/` and a row here. Limits on connections
 * and sizes are kept before any of it: by the listener, and by whoever reads a body.
 */
const pipeline: readonly MiddlewareRow[] = [
  { type: 'recovery', ofRequests: recovery },
  { type: 'host-and-origin', ofRequests: hostAndOrigin },
  { type: 'authentication', ofRequests: authentication },
  { type: 'metrics', ofRequests: ({ metrics }) => metrics?.count, ofMessages: ({ metrics }) => metrics },
  { type: 'tools', ofMessages: ({ tools }) => toolFilterOf(tools) },
];

/** The middleware that has something to do: around `handle`, and for the messages that it reads. */
export function compose(
  options: PipelineOptions,
  handle: (exchange: Exchange) => void,
): (exchange: Exchange) => void {
  const middlewares = pipeline.flatMap(({ ofRequests }) => ofRequests?.(options) ?? []);
  return middlewares.reduceRight<(exchange: Exchange) => void>(
    (inner, middleware) => (exchange) => middleware(exchange, () => inner(exchange)),
    handle,
  );
}

/** The middleware for messages that has something to do, the outermost first. Throws `invalid` for wrong rules. */
export function messagePipeline(options: PipelineOptions): readonly MessageMiddleware[] {
  return pipeline.flatMap(({ ofMessages }) => ofMessages?.(options) ?? []);
}
