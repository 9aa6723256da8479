import type { Readable, Writable } from 'node:stream';
import type { Client } from '@toolhive/contract/client';
import { ThvError } from '@toolhive/contract/failure';
import { WorkloadInput } from '@toolhive/proxy/workload-input';
import { readLines } from '@toolhive/proxy/lines';
import * as z from 'zod';
import type { AnyTool } from './tool.ts';

export interface ToolServerOptions {
  input: Readable;
  output: Writable;
  tools: readonly AnyTool[];
  daemon: () => Promise<Client>;
  identity: { name: string; title: string; version: string };
  instructions: string;
  /** Told of bugs, which callers are not. */
  onFault: (error: unknown) => void;
}

const revision = '2026-07-28';

/** All clients see the same tools, which never change at run time. */
const cacheable = { ttlMs: 60_000, cacheScope: 'public' };

/** What JSON-RPC 2.0 (section 5.1) calls these mistakes. */
const codes = { methodNotFound: -32601, invalidParams: -32602, internal: -32603 } as const;

interface Request {
  id: string | number;
  method: string;
  params?: Record<string, unknown>;
}

/**
 * An in-process MCP server with tools only. It speaks the stateless protocol version on streams, one message per
 * line. Only ToolHive's own proxy connects to it, so its input is well-formed.
 */
export class ToolServer implements AsyncDisposable {
  readonly #options: ToolServerOptions;
  readonly #calls = new Map<unknown, AbortController>();

  constructor(options: ToolServerOptions) {
    this.#options = options;
    readLines(options.input, {
      input: new WorkloadInput(),
      onLine: (line) => this.#receive(line),
      onTooLong: () => options.onFault(new Error('the proxy sends a line that is too long')),
      onExceeded: (reason) => options.onFault(new Error(`the proxy ${reason}`)),
    }).catch(options.onFault);
  }

  /** Ends all running calls. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const call of this.#calls.values()) call.abort(new Error('the server of the tools ends'));
    this.#options.input.destroy();
  }

  #receive(line: string): void {
    const message = JSON.parse(line) as Partial<Request> & { method: string }; // from our own proxy
    const { id, method, params = {} } = message;
    if (id !== undefined) this.#answer({ id, method, params }).catch(this.#options.onFault);
    else if (method === 'notifications/cancelled')
      this.#calls.get(params['requestId'])?.abort(new Error('the client canceled the request'));
  }

  async #answer(request: Request): Promise<void> {
    try {
      this.#send({ id: request.id, result: { resultType: 'complete', ...(await this.#resultOf(request)) } });
    } catch (error) {
      const isExpected = error instanceof Mistake;
      if (!isExpected) this.#options.onFault(error);
      const told = isExpected ? error : new Mistake(codes.internal, 'internal error');
      this.#send({ id: request.id, error: { code: told.code, message: told.message } });
    }
  }

  async #resultOf(request: Request): Promise<object> {
    const { identity, instructions, tools } = this.#options;
    switch (request.method) {
      case 'server/discover':
        return {
          supportedVersions: [revision],
          capabilities: { tools: {} },
          instructions,
          ...cacheable,
          _meta: { 'io.modelcontextprotocol/serverInfo': identity },
        };
      case 'tools/list':
        return { tools: tools.map(describe), ...cacheable };
      case 'tools/call':
        return this.#call(request);
      default:
        throw new Mistake(codes.methodNotFound, `method ${request.method} not found`);
    }
  }

  async #call({ id, params = {} }: Request): Promise<object> {
    const tool = this.#options.tools.find(({ name }) => name === params['name']);
    if (tool === undefined)
      throw new Mistake(codes.invalidParams, `tool ${String(params['name'])} not found`);
    const call = new AbortController();
    this.#calls.set(id, call);
    try {
      const input = tool.input.parse(params['arguments'] ?? {});
      const daemon = await this.#options.daemon();
      const result = await tool.run(input, {
        daemon,
        signal: call.signal,
        report: this.#reporter(params),
      });
      const isText = typeof result === 'string';
      const text = isText ? result : JSON.stringify(result, null, 2);
      return { content: [{ type: 'text', text }], ...(isText ? {} : { structuredContent: result }) };
    } catch (error) {
      // The model that called the tool needs the error, not the client.
      const text = call.signal.aborted ? 'it was cancelled' : this.#explain(error, tool);
      return { content: [{ type: 'text', text }], isError: true };
    } finally {
      this.#calls.delete(id);
    }
  }

  /** Tells how far a call is, if its client wants to know. */
  #reporter({ _meta }: Record<string, unknown>): (message: string) => void {
    const { progressToken } = (_meta ?? {}) as { progressToken?: unknown };
    let progress = 0;
    return (message) => {
      if (progressToken === undefined) return;
      this.#send({
        method: 'notifications/progress',
        params: { progressToken, progress: ++progress, message },
      });
    };
  }

  #explain(error: unknown, { name }: AnyTool): string {
    if (error instanceof z.ZodError) {
      const problems = error.issues.map(
        ({ path, message }) => `${path.join('.') || 'arguments'}: ${message}`,
      );
      return `${name} was not called: ${problems.join('; ')}`;
    }
    if (error instanceof ThvError) {
      return error.hint === undefined ? error.message : `${error.message} (hint: ${error.hint})`;
    }
    this.#options.onFault(error);
    return 'internal error; see the ToolHive log';
  }

  #send(message: object): void {
    this.#options.output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }
}

function describe({ name, title, description, input, output, annotations }: AnyTool): object {
  return {
    name,
    title,
    description,
    inputSchema: schemaOf(input, 'input'),
    ...(output === undefined ? {} : { outputSchema: schemaOf(output, 'output') }),
    annotations: { title, ...annotations },
  };
}

/** Without the schema names of the contract, because each tool is independent. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): object {
  const named = { get: (part: z.ZodType) => ({ ...z.globalRegistry.get(part), id: undefined }) };
  const { $schema: _dialect, ...described } = z.toJSONSchema(schema, {
    io,
    metadata: named as typeof z.globalRegistry, // the function is called only with words from schemas
  });
  return described;
}

/** A request that cannot be answered. */
class Mistake extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}
