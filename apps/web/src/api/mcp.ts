import { ThvError } from '@toolhive/contract/failure';
import { abandonKey } from '@toolhive/contract/mcp-meta';
import { apiBase } from '@toolhive/contract/wire';
import { interrupted, request } from './client.ts';

/** The protocol version of the web UI. The workload's proxy translates for servers of other versions. */
const protocolVersion = '2026-07-28';

const clientInfo = { name: 'toolhive-ui', title: 'ToolHive web UI', version: '1' };
const clientCapabilities = {
  elicitation: { form: {}, url: {} },
  sampling: {},
  roots: {},
  extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
};

export type Values = Record<string, unknown>;

/** A server request that the user must answer before the call can continue. */
export interface InputRequest {
  key: string;
  method: string;
  params: Values;
}

export interface CallEvents {
  signal: AbortSignal;
  onProgress: (progress: {
    progress: number;
    total?: number | undefined;
    message?: string | undefined;
  }) => void;
  /** A log message of the server. */
  onLog: (level: string, data: unknown) => void;
  /** Returns the result for each request by its key. Throws to cancel the call. */
  onInput: (requests: readonly InputRequest[]) => Promise<Values>;
}

export interface CallTarget {
  /** The name of the workload. */
  workload: string;
  /** The `Authorization` header for a workload that authenticates its callers. */
  authorization?: string | undefined;
}

/** The error of an MCP server instead of a result. */
export class McpError extends Error {
  override readonly name = 'McpError';
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The most often that a server may ask for input in the course of one call. */
const maxRounds = 20;
let nextId = 1;

/**
 * Sends a request to a server through the relay of the API (MCP 2026-07-28, Streamable HTTP), and returns its result.
 * Throws `McpError` for an error of the server, and `ThvError` if the relay refuses the request.
 */
export async function callMcp(
  target: CallTarget,
  { method, params, mirrored = {} }: { method: string; params: Values; mirrored?: Record<string, string> },
  events: CallEvents,
): Promise<Values> {
  let current = params;
  for (let round = 0; round < maxRounds; round++) {
    const result = await send(target, { method, params: current, mirrored }, events);
    if (result['resultType'] !== 'input_required') return result;
    const requests = Object.entries(asObject(result['inputRequests'])).map(([key, request]) => {
      const { method: asked, params: details } = asObject(request);
      return { key, method: String(asked), params: asObject(details) };
    });
    const state = result['requestState'];
    const resumed = state === undefined ? params : { ...params, requestState: state };
    let inputResponses: Values;
    try {
      inputResponses = await answered(events, requests);
    } catch (thrown) {
      if (state !== undefined) void abandon(target, { method, params: resumed, mirrored });
      throw thrown;
    }
    current = { ...resumed, inputResponses };
  }
  throw new McpError(0, `the server asked for input more than ${maxRounds} times`, undefined);
}

/** The responses of the user. Rejects as soon as the call is canceled, even if the requests are still shown. */
function answered({ signal, onInput }: CallEvents, requests: readonly InputRequest[]): Promise<Values> {
  const { promise, resolve, reject } = Promise.withResolvers<Values>();
  const cancel = (): void => reject(signal.reason as Error);
  if (signal.aborted) cancel();
  else {
    signal.addEventListener('abort', cancel, { once: true });
    onInput(requests).then(resolve, reject);
  }
  return promise.finally(() => signal.removeEventListener('abort', cancel));
}

/**
 * Gives up a call whose server waits for input. No stream is open that could be closed, so the proxy is told to cancel
 * the call. The request outlives the page.
 */
async function abandon(target: CallTarget, { method, params, mirrored }: McpRequest): Promise<void> {
  const id = nextId++;
  const { _meta, ...others } = withMeta(params, id);
  const asked = {
    method,
    params: { ...others, _meta: { ...asObject(_meta), [abandonKey]: true } },
    mirrored,
  };
  // Browsers refuse large requests that outlive their page, and send these only while it is open.
  await post(target, id, asked, { keepalive: true })
    .catch(() => post(target, id, asked, {}))
    .then(({ body }) => body?.cancel())
    .catch(() => {}); // the daemon is gone, and the call with it
}

interface McpRequest {
  method: string;
  params: Values;
  mirrored: Record<string, string>;
}

function post(
  { workload, authorization }: CallTarget,
  id: number,
  { method, params, mirrored }: McpRequest,
  options: RequestInit,
): Promise<Response> {
  return request(`${apiBase}/workloads/${encodeURIComponent(workload)}/mcp`, {
    method: 'POST',
    headers: {
      ...requestHeaders(method, params),
      ...Object.fromEntries(Object.entries(mirrored).map(([name, value]) => [name, headerValue(value)])),
      ...(authorization === undefined ? {} : { 'x-workload-authorization': authorization }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
    ...options,
  });
}

async function send(
  target: CallTarget,
  { method, params, mirrored }: McpRequest,
  { signal, onProgress, onLog }: CallEvents,
): Promise<Values> {
  const id = nextId++;
  const response = await post(target, id, { method, params: withMeta(params, id), mirrored }, { signal });
  const type = response.headers.get('content-type') ?? '';
  if (type.startsWith('text/event-stream')) {
    for await (const message of messagesOf(response, signal)) {
      if (message['id'] === id) return resultOf(message);
      const details = asObject(message['params']);
      if (message['method'] === 'notifications/progress') {
        onProgress({
          progress: Number(details['progress']),
          total: typeof details['total'] === 'number' ? details['total'] : undefined,
          message: typeof details['message'] === 'string' ? details['message'] : undefined,
        });
      } else if (message['method'] === 'notifications/message') {
        onLog(String(details['level']), details['data']);
      }
    }
    throw new ThvError('unavailable', 'the server closed the connection before it answered');
  }
  const text = await response.text();
  const message = type.startsWith('application/json') ? parsed(text) : undefined;
  if (message !== undefined && ('result' in message || 'error' in message)) return resultOf(message);
  const [problem = '', hint] = text.trimEnd().split('\nhint: ');
  throw new ThvError(
    response.status === 401 ? 'unauthorized' : 'unavailable',
    problem || `status ${response.status}`,
    {
      hint,
    },
  );
}

/** The headers of a request, which the curl command of the tester has as well. */
export function requestHeaders(method: string, params: Values): Record<string, string> {
  const name = params[method === 'resources/read' ? 'uri' : 'name'];
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': protocolVersion,
    'mcp-method': method,
    ...(typeof name === 'string' && /^(tools\/call|prompts\/get|resources\/read)$/.test(method)
      ? { 'mcp-name': headerValue(name) }
      : {}),
  };
}

export function withMeta(params: Values, progressToken: number): Values {
  return {
    ...params,
    _meta: {
      'io.modelcontextprotocol/protocolVersion': protocolVersion,
      'io.modelcontextprotocol/clientInfo': clientInfo,
      'io.modelcontextprotocol/clientCapabilities': clientCapabilities,
      'io.modelcontextprotocol/logLevel': 'info',
      progressToken,
    },
  };
}

/** The headers that repeat tool arguments (MCP 2026-07-28, Streamable HTTP, Custom Headers). */
export function mirroredHeaders(schema: unknown, args: unknown, depth = 0): Record<string, string> {
  const properties = asObject(asObject(schema)['properties']);
  const headers: Record<string, string> = {};
  if (depth > 16) return headers;
  for (const [name, part] of Object.entries(properties)) {
    const header = asObject(part)['x-mcp-header'];
    const value = asObject(args)[name];
    if (
      typeof header === 'string' &&
      /^[\w!#$%&'*+.^`|~-]+$/.test(header) &&
      value !== undefined &&
      value !== null
    ) {
      headers[`mcp-param-${header.toLowerCase()}`] =
        typeof value === 'string' ? value : JSON.stringify(value);
    }
    Object.assign(headers, mirroredHeaders(part, value, depth + 1));
  }
  return headers;
}

/** Encodes a value that cannot be in a header as it is (MCP 2026-07-28, Streamable HTTP, Value Encoding). */
function headerValue(value: string): string {
  if (/^[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?$/.test(value) && !/^=\?base64\?.*\?=$/.test(value))
    return value;
  const bytes = new TextEncoder().encode(value);
  return `=?base64?${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))}?=`;
}

async function* messagesOf({ body }: Response, signal: AbortSignal): AsyncGenerator<Values> {
  if (body === null) return;
  // Loaded with the first stream, because most servers answer without one.
  const { EventSourceParserStream } = await import('eventsource-parser/stream');
  const events = body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  const reader = events.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const message = value.data === '' ? undefined : parsed(value.data);
      if (message !== undefined) yield message;
    }
  } catch (thrown) {
    throw signal.aborted ? thrown : interrupted(thrown);
  } finally {
    await reader.cancel().catch(() => {}); // it has ended by itself
  }
}

function parsed(text: string): Values | undefined {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return undefined; // not JSON, and therefore not a message
  }
}

function resultOf(message: Values): Values {
  if (message['error'] === undefined) return asObject(message['result']);
  const { code, message: text, data } = asObject(message['error']);
  throw new McpError(Number(code), String(text), data);
}

/** The value as an object. Empty for other values. */
export function asObject(value: unknown): Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Values) : {};
}

/** The value as text: text as it is, everything else as JSON. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
