import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { duplexPair } from 'node:stream';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { Agent } from 'undici';
import { askServer } from '../connection/ask-server.ts';
import { ServerConnection } from '../connection/connection.ts';
import { joinConversation } from '../endpoint/conversation.ts';
import type { Conversation } from '../endpoint/conversation.ts';
import { relayAuthorization } from '../http/relay.ts';
import type { Message } from '../jsonrpc/message.ts';
import { mirroredIn } from '../protocol/mirrored-parameters.ts';
import { modernVersion } from '../protocol/protocol.ts';
import type { RemoteServer, WorkloadProxy } from '../proxy.ts';
import { HttpTransport } from '../transport/http-transport.ts';
import { UpstreamClient } from '../transport/upstream-client.ts';

/** The proxy of a server: one in this process, or the URL of the MCP endpoint of one elsewhere. */
export type ReachableProxy = Pick<WorkloadProxy, 'accept'> | { url: string };

export interface ProxyClientOptions {
  proxy: ReachableProxy;
  /** The `Authorization` header of the caller, for a workload that authenticates its callers. */
  authorization?: string | undefined;
  /**
   * Whether the requests are one conversation, which a proxy in this process keeps apart from all others. By default,
   * requests of clients with the same name belong together.
   */
  isConversation?: boolean;
  /** Returns the input schema of a tool, if that is known. */
  schemaOf?: (tool: string) => unknown;
}

export interface ProxyRequest {
  signal: AbortSignal;
  /** Receives the notifications that belong to the request. */
  notify?: (notification: Message) => void;
}

/**
 * A client of a proxy, in the newest protocol version. Requests pass through all middleware of the proxy. They use no
 * network if the proxy is in this process.
 */
export class ProxyClient implements AsyncDisposable {
  readonly #server: Server | undefined;
  readonly #endpoint: UpstreamClient;
  readonly #connection: ServerConnection;
  readonly #over = new AbortController();
  readonly #conversation: Conversation | undefined;

  constructor({
    proxy,
    authorization,
    isConversation = false,
    schemaOf = () => undefined,
  }: ProxyClientOptions) {
    this.#conversation = isConversation ? { ended: this.#over.signal } : undefined;
    this.#server =
      'url' in proxy ? undefined : createServer((request, response) => proxy.accept(request, response));
    this.#endpoint = new UpstreamClient(
      'url' in proxy ? elsewhere(proxy.url, authorization) : this.#inProcess(authorization),
      '',
    );
    this.#connection = new ServerConnection({
      transport: new HttpTransport({
        endpoint: this.#endpoint,
        generation: 'modern',
        mirrored: async (tool) => mirroredIn(schemaOf(tool)),
      }),
      owner: {
        lost() {},
        notified: (notification, call) => call?.responder.notify(notification),
        asked: (connection, asked) => connection.decline(asked),
      },
      input: this.#endpoint.input,
      onFault() {},
    });
    this.#connection.establish('modern', { protocolVersion: modernVersion, capabilities: {} });
  }

  /** Sends a request and returns the response, which may be an error. Rejects when the signal aborts. */
  ask(method: string, params: Record<string, unknown>, options: ProxyRequest): Promise<Message> {
    return askServer(this.#connection, { method, params }, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort(new Error('the client has ended'));
    await this.#connection.close('the client has ended');
    await this.#endpoint[Symbol.asyncDispose]();
    this.#server?.closeAllConnections();
  }

  #inProcess(authorization: string | undefined): RemoteServer {
    return {
      ...serverAt(
        'http://in-process/mcp',
        authorization === undefined ? {} : { [relayAuthorization]: authorization },
      ),
      open: (wrap = (connect) => connect) =>
        new Agent({
          // A connector that calls back before it returns leaves undici waiting.
          connect: wrap((_options, connected) => queueMicrotask(() => connected(null, this.#connect()))),
        }),
    };
  }

  #connect(): TLSSocket {
    const [ours, theirs] = duplexPair();
    if (this.#conversation !== undefined) joinConversation(theirs, this.#conversation);
    this.#server?.emit('connection', theirs);
    return asSocket(ours);
  }
}

function elsewhere(url: string, authorization: string | undefined): RemoteServer {
  return serverAt(url, authorization === undefined ? {} : { authorization });
}

function serverAt(url: string, headers: Record<string, string>): RemoteServer {
  return { kind: 'remote', url, headers: async () => headers, refused: async () => false };
}

/** HTTP needs only the stream of a socket. */
function asSocket(stream: Duplex): TLSSocket {
  return stream as TLSSocket;
}
