import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { raiseFault } from '@toolhive/contract/fault';
import { messageOf } from '@toolhive/contract/failure';
import type { OpenSession } from '../bridge/bridge.ts';
import { namedSession, sessionHeader, sessionOfQuery } from '../endpoint/named-session.ts';
import { messagesPath } from '../endpoint/sse.ts';
import { replyText } from '../http/reply.ts';
import { isObject } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { Exchange, SessionSealing } from '../middleware/middleware.ts';
import type { ClientIdentity, ProtocolGeneration } from '../protocol/protocol.ts';
import { unknownClient } from '../upstream/server-sessions.ts';
import type { RunningServer, ServerPod, StartInstance, Upstream } from '../upstream/upstream.ts';
import type { Peers } from './peers.ts';
import type { EventSeal, Route, RouteSeal } from './route.ts';

export interface ReplicatedUpstreamOptions {
  seal: RouteSeal;
  events: EventSeal;
  /** The other proxies. Absent if this one cannot reach them. */
  peers: () => Peers | undefined;
  /** Opens the connections to one of the servers. */
  openUpstream: () => Upstream;
  onFault: (error: unknown) => void;
}

/** One of the servers. */
interface Pod {
  id: string;
  upstream: Upstream;
  /** The address in use. */
  address?: ServerPod['address'];
  isUp: boolean;
  isRetiring: boolean;
  over: AbortController;
}

/** The only server of a workload whose servers are not named. */
const onlyPod = 'server';
const firstBackoffMs = 250;
const maxBackoffMs = 2_000;
/** How long a request waits for a server that is not listed yet. */
const appearsMs = 3_000;

/**
 * Several equal servers, with several equal proxies in front of them. The session IDs of clients contain the way to the
 * server in sealed form, so any proxy can serve any request. New sessions and requests without a session go to the
 * servers in turn.
 */
export class ReplicatedUpstream implements Upstream {
  readonly #options: ReplicatedUpstreamOptions;
  readonly #pods = new Map<string, Pod>();
  #over = new AbortController();
  #turn = 0;
  /** Called when a server has answered. */
  readonly #waiting = new Set<() => void>();
  /** Requests whose server has not appeared. */
  readonly #missed = new WeakSet<Exchange>();

  constructor(options: ReplicatedUpstreamOptions) {
    this.#options = options;
  }

  get generation(): ProtocolGeneration | undefined {
    return this.#up()[0]?.upstream.generation;
  }

  get serverVersion(): string | undefined {
    return this.#up()[0]?.upstream.serverVersion;
  }

  /** Returns when one of the servers has answered. The others are connected as soon as they answer. */
  async connect(server: RunningServer, startAnother: StartInstance, signal: AbortSignal): Promise<void> {
    const { pods } = server;
    const over = new AbortController();
    this.#over = over;
    if (pods === undefined) {
      const pod = this.#podOf(onlyPod);
      await pod.upstream.connect(server, startAnother, signal);
      pod.isUp = true;
      return;
    }
    const { promise: answered, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = (): void => {
      over.abort(signal.reason);
      reject(signal.reason);
    };
    signal.addEventListener('abort', giveUp, { once: true });
    pods.follow((listed) => this.#follow(listed, startAnother, resolve), over.signal);
    await answered.finally(() => signal.removeEventListener('abort', giveUp));
  }

  async checkSession(signal: AbortSignal): Promise<string | undefined> {
    return this.#up()[0]?.upstream.checkSession(signal);
  }

  disconnect(reason: string, final: boolean): void {
    this.#over.abort(new Error(reason));
    for (const pod of this.#pods.values()) this.#down(pod, reason, final);
  }

  handle(exchange: Exchange): void {
    const { response, principal } = exchange;
    const sealed = sealedIdOf(exchange);
    const route = sealed === undefined ? undefined : this.#options.seal.open(sealed, principal);
    const pod =
      sealed === undefined
        ? this.#pick(exchange.pod)
        : route === undefined
          ? undefined
          : this.#pods.get(route.pod);
    if (pod === undefined && sealed !== undefined) {
      if (route !== undefined && !this.#missed.has(exchange)) return this.#handleLater(exchange, route.pod);
      return replyText(response, 404, 'session not found. Initialize a new session');
    }
    if (pod === undefined)
      return replyText(response, 503, 'the server is not running: no server has answered yet', {
        'retry-after': '1',
      });
    if (route !== undefined) replaceId(exchange, route.id);
    const sealing = this.#sealingFor(exchange, pod, route);
    exchange.sealing = sealing;
    sealReplies(exchange, (id) =>
      id === route?.id && sealed !== undefined
        ? sealed
        : this.#options.seal.seal({ pod: pod.id, id, client: clientOf(exchange) }, principal),
    );
    pod.upstream.handle(exchange);
  }

  openSessions(): OpenSession[] {
    return [...this.#pods.values()].flatMap(({ upstream }) => upstream.openSessions());
  }

  async endSession(id: string): Promise<boolean> {
    for (const { upstream } of this.#pods.values()) if (await upstream.endSession(id)) return true;
    return false;
  }

  async close(): Promise<void> {
    this.disconnect('the workload was stopped', true);
    await Promise.all([...this.#pods.values()].map(({ upstream }) => upstream.close()));
  }

  /**
   * Waits for a server that another proxy knows already: a session that is not found is over for its client. The seal
   * proves that there is or was such a server.
   */
  #handleLater(exchange: Exchange, id: string): void {
    const { signal } = this.#over;
    const look = (): void => {
      if (this.#pods.get(id)?.isUp === true) go();
    };
    const go = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', go);
      this.#waiting.delete(look);
      this.#missed.add(exchange);
      if (exchange.response.destroyed) return;
      try {
        this.handle(exchange);
      } catch (error) {
        // A fault of one request must not count as one of the server that has just answered.
        this.#options.onFault(error);
        exchange.response.destroy();
      }
    };
    const timer = setTimeout(go, appearsMs);
    signal.addEventListener('abort', go, { once: true });
    this.#waiting.add(look);
  }

  #up(): Pod[] {
    return [...this.#pods.values()].filter(({ isUp }) => isUp);
  }

  /** Chooses a server for a request that names no session. */
  #pick(wanted: string | undefined): Pod | undefined {
    if (wanted !== undefined) return this.#pods.get(wanted);
    const up = this.#up();
    const lasting = up.filter(({ isRetiring }) => !isRetiring);
    const candidates = [lasting, up, [...this.#pods.values()]].find(({ length }) => length > 0) ?? [];
    this.#turn += 1;
    return candidates[this.#turn % Math.max(candidates.length, 1)];
  }

  #podOf(id: string): Pod {
    const known = this.#pods.get(id);
    if (known !== undefined) return known;
    const pod: Pod = {
      id,
      upstream: this.#options.openUpstream(),
      isUp: false,
      isRetiring: false,
      over: new AbortController(),
    };
    this.#pods.set(id, pod);
    return pod;
  }

  #follow(listed: readonly ServerPod[], startAnother: StartInstance, onUp: () => void): void {
    for (const { id, address, isRetiring } of listed) {
      const pod = this.#podOf(id);
      pod.isRetiring = isRetiring;
      if (pod.address !== undefined && JSON.stringify(pod.address) === JSON.stringify(address)) continue;
      this.#down(pod, 'the server was replaced', false);
      pod.address = address;
      pod.over = new AbortController();
      void this.#keepConnecting(pod, startAnother, onUp).catch(this.#options.onFault);
    }
    const ids = new Set(listed.map(({ id }) => id));
    for (const pod of this.#pods.values())
      if (!ids.has(pod.id) && pod.address !== undefined)
        this.#down(pod, 'it does not accept connections', false);
  }

  async #keepConnecting(pod: Pod, startAnother: StartInstance, onUp: () => void): Promise<void> {
    const { address, over, upstream } = pod;
    const { signal } = over;
    for (let backoffMs = firstBackoffMs; !signal.aborted; backoffMs = Math.min(backoffMs * 2, maxBackoffMs)) {
      try {
        await upstream.connect(address === undefined ? {} : { address }, startAnother, signal);
        if (signal.aborted) return;
        pod.isUp = true;
        for (const look of this.#waiting) look();
        return onUp();
      } catch (error) {
        if (signal.aborted) return;
        upstream.disconnect(messageOf(error), false);
        await delay(backoffMs, undefined, { signal }).catch(() => {}); // aborted, which the loop looks at
      }
    }
  }

  #down(pod: Pod, reason: string, final: boolean): void {
    pod.isUp = false;
    delete pod.address;
    pod.over.abort(new Error(reason));
    pod.upstream.disconnect(reason, final);
  }

  #sealingFor(exchange: Exchange, pod: Pod, route: Route | undefined): SessionSealing {
    const { seal, events } = this.#options;
    const { principal } = exchange;
    const peers = this.#options.peers();
    const self = peers?.self;
    const owned = self === undefined ? {} : { owner: self };
    return {
      ...(route === undefined
        ? {}
        : { named: { client: route.client, isOrphan: route.owner !== undefined && route.owner !== self } }),
      sealed: (id, client) => seal.seal({ pod: pod.id, id, client, ...owned }, principal),
      sealedState: (state) =>
        seal.seal({ pod: pod.id, id: state, client: unknownClient, ...owned }, principal),
      opened: (state, message) => {
        const place = seal.open(state, principal);
        if (place === undefined) return { state }; // the server's own state, or none of this principal
        const isHere = place.owner === self && place.pod === pod.id;
        if (isHere || peers === undefined || place.owner === undefined || exchange.isRelayedByPeer === true)
          return { state: place.id };
        this.#relayCall(exchange, message, place.owner, place.pod, peers);
        return 'taken';
      },
      sealedEvent: (id, request) => events.seal(id, request, principal, route?.id),
      openedEvent: (sealed) => events.open(sealed, principal, route?.id),
    };
  }

  /** Relays the next request of a call that waits at another proxy or server. */
  #relayCall(exchange: Exchange, { text }: Message, owner: string, pod: string, peers: Peers): void {
    const { request, response } = exchange;
    peers
      .relay(owner, request, response, { body: text, pod })
      .then((isRelayed) =>
        isRelayed || response.headersSent
          ? undefined
          : replyText(response, 503, 'the proxy in which the call waited has ended. Repeat the call'),
      )
      .catch(raiseFault);
  }
}

/** The session ID that a request names in any of the transports. */
export function sealedIdOf(exchange: Pick<Exchange, 'request' | 'path' | 'query'>): string | undefined {
  return exchange.path === messagesPath ? sessionOfQuery(exchange.query) : namedSession(exchange as Exchange);
}

/** Writes the ID that the server or the bridge knows into a request. */
function replaceId(exchange: Exchange, id: string): void {
  const { request, path, query } = exchange;
  if (request.headers[sessionHeader] !== undefined) {
    request.headers[sessionHeader] = id;
    request.rawHeaders = replaced(request.rawHeaders, id);
  }
  const parameters = new URLSearchParams(query);
  const named = ['session_id', 'sessionId'].filter((name) => parameters.has(name));
  if (named.length === 0 || path === '/mcp') return;
  for (const name of named) parameters.set(name, id);
  exchange.query = parameters.toString();
  request.url = `${path}?${exchange.query}`;
}

function replaced(rawHeaders: IncomingMessage['rawHeaders'], id: string): string[] {
  return rawHeaders.map((text, at) =>
    at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === sessionHeader ? id : text,
  );
}

/** What the client says about itself, if the request was read. */
function clientOf({ message, sealing, request }: Exchange): ClientIdentity {
  const { method, params } = message?.value ?? {};
  const version = request.headers['mcp-protocol-version'];
  if (method !== 'initialize')
    return (
      sealing?.named?.client ?? {
        ...unknownClient,
        ...(typeof version === 'string' ? { protocolVersion: version } : {}),
      }
    );
  const { protocolVersion, capabilities, clientInfo } = params ?? {};
  return {
    protocolVersion: typeof protocolVersion === 'string' ? protocolVersion : unknownClient.protocolVersion,
    capabilities: isObject(capabilities) ? capabilities : {},
    clientInfo,
  };
}

/** Seals the session IDs that the server gives out, in whichever way its response gets to the client. */
function sealReplies({ response, sealing }: Exchange, seal: (id: string) => string): void {
  if (sealing === undefined) return;
  const own = new Set<string>();
  const { sealed } = sealing;
  const remembered: typeof sealed = (id, client) => {
    const text = sealed(id, client);
    own.add(text);
    return text;
  };
  sealing.sealed = remembered;
  const once = (id: string): string => (own.has(id) ? id : seal(id));
  const writeHead = response.writeHead.bind(response) as (status: number, headers?: object) => ServerResponse;
  const writeSealed = (status: number, headers?: string[] | Record<string, string>): ServerResponse =>
    writeHead(status, headers && sealedHeaders(headers, once));
  response.writeHead = writeSealed as ServerResponse['writeHead'];
}

function sealedHeaders(
  headers: string[] | Record<string, string>,
  seal: (id: string) => string,
): string[] | Record<string, string> {
  if (Array.isArray(headers))
    return headers.map((text, at) =>
      at % 2 === 1 && headers[at - 1]?.toLowerCase() === sessionHeader ? seal(text) : text,
    );
  const id = headers[sessionHeader];
  return id === undefined ? headers : { ...headers, [sessionHeader]: seal(id) };
}
