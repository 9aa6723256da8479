import type { InstanceAddress } from '@toolhive/runtime/runtime';
import { Agent, Pool } from 'undici';
import type { Dispatcher, buildConnector } from 'undici';
import { WorkloadInput } from '../input/workload-input.ts';
import { answerTo } from './answer.ts';
import type { Answer } from './answer.ts';

/** A server that somebody else runs. */
export interface RemoteServer {
  kind: 'remote';
  /** Of its endpoint. */
  url: string;
  /** Opens connections to it, where not every address is acceptable. */
  connect?: buildConnector.connector | undefined;
  /** What every request to it has to bring. */
  headers(): Promise<Record<string, string>>;
  /** It lets nobody in: is there hope, so that the request is to be sent again? */
  refused(refusal: Refusal): Promise<boolean>;
}

/** An answer that lets nobody in, and the `authorization` that it was an answer to. */
interface Refusal {
  status: number;
  wwwAuthenticate: string | undefined;
  sent: string | undefined;
}

export type ServerAddress = InstanceAddress | RemoteServer;

export interface UpstreamRequest {
  method: Dispatcher.HttpMethod;
  headers: Record<string, string>;
  body?: string;
  signal: AbortSignal;
  /** Instead of the endpoint's own, for servers that name another. */
  path?: string;
}

/**
 * Where a server that speaks HTTP is, and how it is talked to: with what it wants to see in every request, and
 * with nothing of what a client sent to us. Redirects are not followed.
 */
export class UpstreamClient implements AsyncDisposable {
  readonly origin: string;
  /** Of the endpoint, with its query. */
  readonly path: string;
  /** The limits on what the server sends. */
  readonly input: WorkloadInput;
  readonly #dispatcher: Dispatcher;
  readonly #remote: RemoteServer | undefined;

  /** `path` is where a server on this machine has its endpoint; that of a remote one stands in its URL. */
  constructor(address: ServerAddress, path: string, input: WorkloadInput = new WorkloadInput()) {
    this.input = input;
    if (address.kind === 'remote') {
      const url = new URL(address.url);
      this.origin = url.origin;
      this.path = `${url.pathname}${url.search}`;
      this.#dispatcher = new Agent(address.connect === undefined ? {} : { connect: address.connect });
      this.#remote = address;
      return;
    }
    this.origin = address.kind === 'socket' ? 'http://localhost' : `http://${address.host}:${address.port}`;
    this.path = path;
    this.#dispatcher = new Pool(this.origin, address.kind === 'socket' ? { socketPath: address.path } : {});
    this.#remote = undefined;
  }

  /** Sends a request. One that is refused is sent once more, if there is hope. */
  request(request: UpstreamRequest): Promise<Answer> {
    return this.#remote === undefined ? this.#send(request) : this.#requestFrom(this.#remote, request);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#dispatcher.destroy();
  }

  async #requestFrom(remote: RemoteServer, request: UpstreamRequest): Promise<Answer> {
    const own = await remote.headers();
    const answer = await this.#send(request, own);
    if (answer.statusCode !== 401 && answer.statusCode !== 403) return answer;
    const { 'www-authenticate': challenge } = answer.headers;
    const wwwAuthenticate = Array.isArray(challenge) ? challenge.join(', ') : challenge;
    const refusal = { status: answer.statusCode, wwwAuthenticate, sent: own['authorization'] };
    return (await remote.refused(refusal)) ? this.#send(request, await remote.headers()) : answer;
  }

  #send(
    { method, headers, body, signal, path = this.path }: UpstreamRequest,
    own: Record<string, string> = {},
  ): Promise<Answer> {
    const request = {
      origin: this.origin,
      path,
      method,
      headers: { ...headers, ...own },
      body,
      // A call may take as long as it takes, and a stream is silent for hours.
      headersTimeout: 0,
      bodyTimeout: 0,
    };
    return answerTo(this.#dispatcher, request, { signal, budget: this.input.output });
  }
}
