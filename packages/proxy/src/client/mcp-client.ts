import { invalid, unavailable } from '@toolhive/contract/failure';
import { generationOfRemote } from '../transport/readiness.ts';
import type { HttpTransportKind } from '../transport/readiness.ts';
import { errorCodes, isObject, ownMessage } from '../jsonrpc/message.ts';
import { charsOf, maxListChars } from '../connection/list-size.ts';
import { performHandshake } from '../connection/handshake.ts';
import { RefusedRequest, ServerConnection } from '../connection/connection.ts';
import { modernMeta, newestLegacyVersion } from '../protocol/protocol.ts';
import type { ClientIdentity, ProtocolGeneration, ServerIdentity } from '../protocol/protocol.ts';
import { describeTolerances } from '../jsonrpc/tolerances.ts';
import { UpstreamClient } from '../transport/upstream-client.ts';
import type { OpenWay } from '../transport/upstream-client.ts';
import { HttpTransport } from '../transport/http-transport.ts';
import { SseTransport } from '../transport/sse-transport.ts';
import { findEndpoint, withoutCredentials } from './endpoint.ts';
import { connectionFailure } from '../transport/connection-failure.ts';

/** How many pages of a list are read, and how many items they may have in total. */
const maxPages = 1000;
const maxListed = 50_000;

export interface McpClientOptions {
  /** The URL of the server's endpoint. */
  url: string;
  /** `auto` finds out the transport. */
  transport: HttpTransportKind | 'auto';
  /** Opens connections to the server. By default, directly, and to any address. */
  open?: (url: string) => OpenWay;
  /** ToolHive's version, for `clientInfo`. */
  version: string;
  signal: AbortSignal;
}

/** How far a call is, as its server counts. */
export interface ToolProgress {
  progress: number;
  total?: number;
  message?: string;
}

/** The kinds of lists, the result member that contains each list, and the capability or extension that offers it. */
const lists = {
  tools: { method: 'tools/list', member: 'tools', capability: 'tools' },
  prompts: { method: 'prompts/list', member: 'prompts', capability: 'prompts' },
  resources: { method: 'resources/list', member: 'resources', capability: 'resources' },
  resourceTemplates: {
    method: 'resources/templates/list',
    member: 'resourceTemplates',
    capability: 'resources',
  },
  skills: { method: 'skills/list', member: 'skills', capability: 'io.modelcontextprotocol/skills' },
} as const;

export type ListName = keyof typeof lists;

/**
 * A client that reads the lists and calls the tools of one server of either generation. Disposing of the client
 * closes the connection.
 */
export class McpClient implements AsyncDisposable {
  readonly #connection: ServerConnection;
  readonly #endpoint: UpstreamClient;
  readonly #identity: ClientIdentity;

  private constructor(connection: ServerConnection, endpoint: UpstreamClient, identity: ClientIdentity) {
    this.#connection = connection;
    this.#endpoint = endpoint;
    this.#identity = identity;
  }

  /** Throws `invalid` for an invalid URL, and `unavailable` if no MCP server answers there. */
  static async connect({ url, transport, open, version, signal }: McpClientOptions): Promise<McpClient> {
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
      throw invalid(`${JSON.stringify(url)} is not an HTTP URL`);
    const server = { ...withoutCredentials(url), open: open?.(url) };
    const found = transport === 'auto' ? await findEndpoint(server, signal) : { url, transport };
    await using opened = new AsyncDisposableStack();
    const endpoint = opened.use(new UpstreamClient({ ...server, url: found.url }, ''));
    const generation = await generationOfRemote(endpoint, found.transport, signal);
    const isSse = found.transport === 'sse';
    const openedTransport = isSse
      ? new SseTransport(endpoint)
      : new HttpTransport({ endpoint, generation, mirrored: async () => [] });
    const connection = new ServerConnection({
      transport: openedTransport,
      owner: { notified() {}, lost() {}, asked: (asked, question) => asked.decline(question) },
      input: endpoint.input,
      onFault() {},
    });
    opened.defer(() => connection.close('it is over'));
    const clientInfo = { name: 'toolhive', version };
    const identity = { protocolVersion: newestLegacyVersion, capabilities: {}, clientInfo };
    await performHandshake(connection, { client: identity, generation, probeMs: 0, signal }).catch(
      (error: unknown) => {
        signal.throwIfAborted();
        throw unavailable(`${url} cannot be reached: ${connectionFailure(error)}`, { cause: error });
      },
    );
    const client = new McpClient(connection, endpoint, identity);
    opened.move();
    return client;
  }

  get generation(): ProtocolGeneration {
    return this.#connection.generation;
  }

  /** What the server says about itself. */
  get server(): ServerIdentity {
    return this.#connection.identity;
  }

  /** Returns a complete list, empty if the server has none. Throws if the list has too many pages or items. */
  async list(name: ListName, signal: AbortSignal): Promise<Record<string, unknown>[]> {
    const { method, member, capability } = lists[name];
    const { extensions } = this.server.capabilities;
    const isOffered =
      this.server.capabilities[capability] !== undefined ||
      (isObject(extensions) && extensions[capability] !== undefined);
    if (!isOffered) return [];
    const described = this.generation === 'modern' ? { _meta: modernMeta(this.#identity) } : {};
    const found: Record<string, unknown>[] = [];
    const cursors = new Set<unknown>();
    let cursor: unknown;
    let chars = 0;
    for (let page = 0; page < maxPages && found.length < maxListed; page++) {
      const params = { ...described, ...(cursor === undefined ? {} : { cursor }) };
      const result = await this.#connection.request(method, params, signal).catch((error: unknown) => {
        if (!(error instanceof RefusedRequest)) throw error;
        // Many servers have resources, but not the method that lists their templates.
        if (error.error.code === errorCodes.methodNotFound) return { [member]: [] };
        throw unavailable(error.message, { cause: error });
      });
      if (!isObject(result) || !Array.isArray(result[member]))
        throw unavailable(`its ${member} member is not a list`);
      chars += charsOf(result);
      if (chars > maxListChars)
        throw unavailable(`its list of ${member} is larger than ${maxListChars / 1024 ** 2} MiB`);
      found.push(...result[member].filter(isObject));
      cursor = result['nextCursor'];
      if (cursor === undefined || cursor === null) return found;
      if (cursors.has(cursor)) return this.#endList(found);
      cursors.add(cursor);
    }
    throw unavailable(`its list of ${member} does not end`);
  }

  /** The page would be the same again, so the list is complete as far as it can be. */
  #endList(found: Record<string, unknown>[]): Record<string, unknown>[] {
    this.#endpoint.input.tolerate('cursor');
    return found;
  }

  /** How the server deviates from the protocol, in sentences. */
  get deviations(): string[] {
    return describeTolerances(this.#endpoint.input.tolerated);
  }

  /** Calls a tool and returns its result, which may be an error of the tool. Throws if the server refuses the call. */
  async callTool(
    name: string,
    args: Readonly<Record<string, unknown>>,
    { signal, onProgress }: { signal: AbortSignal; onProgress: (progress: ToolProgress) => void },
  ): Promise<Record<string, unknown>> {
    signal.throwIfAborted();
    const described = this.generation === 'modern' ? modernMeta(this.#identity) : {};
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const method = 'tools/call';
    // The connection puts its own ID in the place of the token.
    const params = { name, arguments: args, _meta: { ...described, progressToken: 0 } };
    const call = this.#connection.ask(ownMessage({ id: 0, method, params }), {
      notify({ value }) {
        const { progress, total, message } = value.params ?? {};
        if (typeof progress !== 'number') return;
        onProgress({
          progress,
          ...(typeof total === 'number' ? { total } : {}),
          ...(typeof message === 'string' ? { message } : {}),
        });
      },
      answer({ value: { result, error } }) {
        if (error === undefined) resolve(result);
        else reject(unavailable(new RefusedRequest(method, error).message));
      },
    });
    const cancel = (): void => {
      if (call !== undefined) this.#connection.cancel(call, 'the user canceled the call');
      reject(signal.reason);
    };
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const result = await promise;
      if (!isObject(result)) throw unavailable(`the server returned no result for the call to ${name}`);
      return result;
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection.close('it is over');
    await this.#endpoint[Symbol.asyncDispose]();
  }
}
