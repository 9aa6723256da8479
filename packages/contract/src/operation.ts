import type * as z from 'zod';
import type { FailureKind } from './failure.ts';

/** An HTTP operation, declared once: routing, validation, types, OpenAPI and the client come from it. */
export interface Operation {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Relative to the base, with `{name}` for parameters. */
  path: `/${string}`;
  /** Served at the root too, beside the base. */
  alsoAtRoot?: boolean;
  /** Answered only on the daemon's own Unix socket. */
  socketOnly?: boolean;
  tag: OperationTag;
  summary: string;
  description?: string;
  params?: z.ZodObject;
  query?: z.ZodObject;
  headers?: z.ZodObject;
  body?: z.ZodType;
  success: {
    status: 200 | 201 | 202 | 204;
    description: string;
    /** A schema for JSON, `text` for plain text; absent where there is no body. */
    body?: z.ZodType | 'text' | EventStream;
    /** The schema of each line, if a plain text is sent as JSON lines to those who ask for them. */
    lines?: z.ZodType;
  };
  /** Body and response belong to another protocol and pass unread. The typed client has no function for it. */
  passThrough?: boolean;
  /** Goes on after its answer; with the media type for progress, it answers line by line until it is done. */
  progress?: boolean;
  /** What can go wrong beyond what its method and its input bring along, such as `invalid`. */
  failures: readonly FailureKind[];
}

/** A body that goes on: server-sent events (the HTML standard, section 9.2), each of this schema. */
export interface EventStream {
  events: z.ZodType;
}

export const operationTags = {
  system: 'The daemon itself.',
  version: 'Which version answers.',
  workloads: 'Running servers.',
  logs: 'What servers and their proxies wrote.',
  events: 'What changes, as it changes.',
  audit: 'Who did what.',
  groups: 'Workloads that belong together.',
  clients: 'Applications that use the servers.',
  discovery: 'What is installed on this machine.',
  registry: 'Catalogues of servers.',
  images: 'Container images of packages.',
  secrets: 'Values that only servers get to see.',
  settings: 'What is so for the whole daemon.',
} as const;

export type OperationTag = keyof typeof operationTags;

type Parsed<Schema> = Schema extends z.ZodType ? z.infer<Schema> : undefined;
type Given<Schema> = Schema extends z.ZodType ? z.input<Schema> : undefined;
type Part<Key extends string, Value> = [Value] extends [undefined] ? unknown : { [K in Key]: Value };

/** What a handler is given: every part validated, defaults filled in. */
export type OperationInput<O extends Operation> = Part<'params', Parsed<O['params']>> &
  Part<'query', Parsed<O['query']>> &
  Part<'headers', Parsed<O['headers']>> &
  Part<'body', Parsed<O['body']>>;

/** What a caller gives. */
export type OperationCall<O extends Operation> = Part<'params', Given<O['params']>> &
  Part<'query', Given<O['query']>> &
  Headers<Given<O['headers']>> &
  Part<'body', Given<O['body']>>;

/** Headers that the operation can do without need not be given. */
type Headers<Value> = [Value] extends [undefined]
  ? unknown
  : Partial<Value> extends Value
    ? { headers?: Value }
    : { headers: Value };

/** What it answers with. */
export type OperationResult<O extends Operation> = O['success'] extends { body: infer Body }
  ? Body extends z.ZodType
    ? z.infer<Body>
    : Body extends { events: infer Event extends z.ZodType }
      ? AsyncIterable<Sent<z.infer<Event>>>
      : string
  : void;

/** One event of a stream, with the id to resume after it. */
export interface Sent<Event> {
  id: string;
  event: Event;
}

/** Keeps the literal types of a declaration. */
export function operation<const O extends Operation>(declaration: O): O {
  return declaration;
}
