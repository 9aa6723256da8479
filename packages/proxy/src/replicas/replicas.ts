import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SealKeys } from '../sealing/seal.ts';
import { SharedStreams } from '../bridge/shared-streams.ts';
import type { SharedStorage } from '../bridge/shared-streams.ts';
import type { ConnectionLimits } from '../http/connections.ts';
import type { Exchange } from '../middleware/middleware.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { Peers } from './peers.ts';
import type { PeerOptions, PeerRequest } from './peers.ts';
import { ReplicatedUpstream, sealedIdOf } from './replicated-upstream.ts';
import { EventSeal, RouteSeal } from './route.ts';

/** How several equal proxies serve one workload. */
export interface ReplicaOptions {
  /** The keys that all peers share. */
  keys: SealKeys;
  /**
   * How proxies reach each other. Without it, requests for a session that another proxy holds start the session again
   * here.
   */
  peers?: Omit<PeerOptions, 'keys'>;
  /** Where the events of sessions are stored, so that they survive their proxy. By default, nowhere. */
  storage?: SharedStorage | undefined;
}

/** What a proxy shares with its peers. */
export class Replicas {
  readonly #options: ReplicaOptions;
  readonly #seal: RouteSeal;
  readonly #events: EventSeal;
  /** The stored events of sessions. */
  readonly shared: SharedStreams | undefined;
  #peers: Peers | undefined;

  constructor(workload: string, options: ReplicaOptions) {
    this.#options = options;
    this.#seal = new RouteSeal(workload, options.keys);
    this.#events = new EventSeal(workload, options.keys);
    const { keys, storage } = options;
    this.shared = storage && new SharedStreams({ workload, keys, storage });
  }

  /** Opens the port for the other proxies, if there is one. */
  async open(
    limits: ConnectionLimits,
    answer: (request: IncomingMessage, response: ServerResponse, peer: PeerRequest) => void,
  ): Promise<void> {
    const { keys, peers } = this.#options;
    if (peers !== undefined) this.#peers = await Peers.open({ ...peers, keys }, limits, answer);
  }

  upstream(openUpstream: () => Upstream, onFault: (error: unknown) => void): Upstream {
    return new ReplicatedUpstream({
      seal: this.#seal,
      events: this.#events,
      peers: () => this.#peers,
      openUpstream,
      onFault,
    });
  }

  /**
   * Relays a request for a session that another proxy holds, before anything else happens to the request: the other
   * proxy authenticates its caller. Calls `handle` for all other requests.
   */
  pass(exchange: Exchange, handle: (exchange: Exchange) => void, onFault: (error: unknown) => void): void {
    const peers = this.#peers;
    const sealed = sealedIdOf(exchange);
    const owner = sealed === undefined ? undefined : this.#seal.ownerOf(sealed);
    if (
      peers === undefined ||
      owner === undefined ||
      owner === peers.self ||
      exchange.isRelayedByPeer === true
    )
      return handle(exchange);
    const { request, response } = exchange;
    peers
      .relay(owner, request, response)
      .then((isRelayed) => (isRelayed || response.destroyed ? undefined : handle(exchange)))
      .catch(onFault);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#peers?.[Symbol.asyncDispose]();
    await this.shared?.[Symbol.asyncDispose]();
  }
}
