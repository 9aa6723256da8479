import type * as z from 'zod';
import type { FailureKind } from './failure.ts';

/** An HTTP operation, the source of routing, validation, types, OpenAPI, and the client. */
export interface Operation {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Relative to the base, with `{name}` for parameters. */
  path: `/${string}`;
  /** Also served at the root. */
  alsoAtRoot?: boolean;
  /** Available only on the daemon's Unix socket. */
  socketOnly?: boolean;
  tag: OperationTag;
  /** What policies of the API must allow. */
  access: OperationAccess;
  /** A command that performs the operation, for the API reference. */
  command: SampleCommand | 'none';
  summary: string;
  description?: string;
  params?: z.ZodObject;
  query?: z.ZodObject;
  headers?: z.ZodObject;
  body?: z.ZodType;
  success: {
    status: 200 | 201 | 202 | 204;
    description: string;
    /** A schema for JSON, or `text` for plain text. Absent without a body. */
    body?: z.ZodType | 'text' | EventStream;
    /** The schema of each line, if clients can request a plain text as JSON lines. */
    lines?: z.ZodType;
  };
  /** The body and the response belong to another protocol and are not read. The typed client has no such function. */
  passThrough?: boolean;
  /** Continues after its response. With the media type for progress, the response is a stream that ends with the work. */
  progress?: boolean;
  /** The possible failures, except those of the method and the input, such as `invalid`. */
  failures: readonly FailureKind[];
}

/**
 * What a call needs. `read-bodies` returns what clients and servers said to each other. `read-items` lists only the items that
 * the caller can read, so no policy decides about the list, and the handler must ask `isVisible` about every item.
 */
export type OperationAccess = 'read' | 'read-bodies' | 'read-items' | 'write';

/** The path of a command, and, if the command has several examples, a word in the right one. */
export type SampleCommand = readonly [path: string, word?: string];

/** An endless body: server-sent events (HTML standard, section 9.2) with this schema. */
export interface EventStream {
  events: z.ZodType;
}

export const operationTags = {
  system: 'The ToolHive daemon.',
  version: 'The version of the daemon.',
  workloads: 'Workloads.',
  logs: 'Logs of servers and proxies.',
  events: 'Changes in the daemon.',
  audit: 'The audit log.',
  groups: 'Named sets of workloads.',
  clients: 'MCP clients.',
  discovery: 'Installed clients.',
  registry: 'Catalogs of MCP servers.',
  images: 'Container images for packages.',
  secrets: 'Credentials for servers.',
  settings: 'Daemon settings.',
} as const;

export type OperationTag = keyof typeof operationTags;

type Parsed<Schema> = Schema extends z.ZodType ? z.infer<Schema> : undefined;
type Given<Schema> = Schema extends z.ZodType ? z.input<Schema> : undefined;
type Part<Key extends string, Value> = [Value] extends [undefined] ? unknown : { [K in Key]: Value };

/** The validated handler input, with defaults. */
export type OperationInput<O extends Operation> = Part<'params', Parsed<O['params']>> &
  Part<'query', Parsed<O['query']>> &
  Part<'headers', Parsed<O['headers']>> &
  Part<'body', Parsed<O['body']>>;

/** The call arguments. */
export type OperationCall<O extends Operation> = Part<'params', Given<O['params']>> &
  Part<'query', Given<O['query']>> &
  Headers<Given<O['headers']>> &
  Part<'body', Given<O['body']>>;

/** Optional headers can be absent. */
type Headers<Value> = [Value] extends [undefined]
  ? unknown
  : Partial<Value> extends Value
    ? { headers?: Value }
    : { headers: Value };

/** The result of an operation. */
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
