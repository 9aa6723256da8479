import { AsyncLocalStorage } from 'node:async_hooks';
import type { Socket as Datagrams } from 'node:dgram';
import type { Server } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import { inspect } from 'node:util';
import { Rules } from '../outbound-rules.ts';
import type { CorporateProxies } from './corporate.ts';
import type { ConnectionLimits } from './connection-limiter.ts';
import { ConnectionPlaces } from './connection-places.ts';
import { EgressGateway, type GatewaySockets } from './gateway.ts';
import type { FromGateways, GatewayToOpen, SocketKind, ToGateways } from './gateway-messages.ts';
import { GatewayReports } from './gateway-reports.ts';
import { RelayedSockets } from './relayed-sockets.ts';
import { type Resolve, openResolver } from './resolver.ts';
import { SharedListeners } from './shared-listeners.ts';

const tell = (message: FromGateways): void => {
  if (process.connected) process.send?.(message);
};

/** Sockets that have arrived for a gateway. */
type Arriving = { -readonly [part in keyof GatewaySockets]?: GatewaySockets[part] };

interface Open {
  opened: EgressGateway;
  reports: GatewayReports;
  resources: DisposableStack;
}

/** All gateways, and their common parts. */
class Gateways {
  readonly #resolve: Resolve;
  readonly #places: ConnectionPlaces;
  readonly #proxies: CorporateProxies;
  readonly #limits: ConnectionLimits;
  readonly #shared: SharedListeners;
  readonly #arriving = new Map<number, Arriving>();
  readonly #open = new Map<number, Open>();
  readonly #relays = new Map<number, RelayedSockets>();
  /** What the daemon has been asked, by the ticket. */
  readonly #asked = new Map<number, (answer: boolean) => void>();
  #tickets = 0;

  constructor({ nameServers, limits, openFiles, proxies }: Extract<ToGateways, { type: 'settings' }>) {
    this.#resolve = openResolver(nameServers);
    this.#places = new ConnectionPlaces(openFiles);
    this.#proxies = proxies;
    this.#limits = limits;
    this.#shared = new SharedListeners(limits);
  }

  take(gateway: number, kind: SocketKind, handle: unknown): void {
    if (kind === 'shared') return this.#shared.add(handle as Server);
    const arriving = this.#arriving.get(gateway) ?? {};
    this.#arriving.set(gateway, arriving);
    if (kind === 'datagrams') arriving.datagrams = handle as Datagrams;
    else if (kind === 'lookups') arriving.lookups = handle as Server;
    else if (kind === 'local') arriving.local = [...(arriving.local ?? []), handle as Server];
    else arriving.listeners = [...(arriving.listeners ?? []), handle as Server];
  }

  open({ gateway, rules, names, source }: GatewayToOpen): void {
    const sockets = this.#socketsOf(gateway);
    const reports = new GatewayReports(gateway, new Rules(rules), tell);
    const resources = new DisposableStack();
    const opened = working.run(gateway, () => {
      const made = new EgressGateway({
        sockets,
        egress: reports,
        resolve: this.#resolve,
        onFault: (error) => this.fault(gateway, error),
        names,
        onName: reports.addName,
        places: this.#places,
        proxies: this.#proxies,
        limits: this.#limits,
        mayReachLocal: (port) => this.#ask((ticket) => ({ type: 'local', gateway, port, ticket })),
      });
      resources.use(made);
      const setUp = (isUp: boolean): Promise<boolean> =>
        this.#ask((ticket) => ({ type: 'switch', gateway, isUp, ticket }));
      if (source !== undefined) resources.use(this.#shared.enter(source, made, setUp));
      return made;
    });
    this.#open.set(gateway, { opened, reports, resources });
  }

  openRelay(gateway: number): void {
    const relay = working.run(
      gateway,
      () =>
        new RelayedSockets({
          write: (bytes) => tell({ type: 'bytes', gateway, bytes }),
          onSaid: (text) => tell({ type: 'relay said', gateway, text: text.slice(0, 2_000) }),
        }),
    );
    this.#relays.set(gateway, relay);
    this.#arriving.set(gateway, { ...relay.sockets });
  }

  relay(gateway: number): RelayedSockets | undefined {
    return this.#relays.get(gateway);
  }

  unpublishPort(path: string): void {
    for (const relay of this.#relays.values()) relay.unpublishPort(path);
  }

  change(gateway: number, rules: Rules): void {
    const found = this.#open.get(gateway);
    if (found === undefined) return;
    found.reports.rules = rules;
    found.opened.applyRules();
  }

  /** Can be repeated. Returns when everything was reported. */
  async close(gateway: number): Promise<void> {
    const { resources, reports } = this.#open.get(gateway) ?? {};
    this.#open.delete(gateway);
    resources?.dispose();
    this.#relays.get(gateway)?.[Symbol.dispose]();
    this.#relays.delete(gateway);
    const { datagrams, lookups, listeners = [], local = [] } = this.#arriving.get(gateway) ?? {};
    this.#arriving.delete(gateway);
    for (const socket of [datagrams, lookups, ...listeners, ...local]) socket?.close();
    // Destroyed connections tell their traffic in the next turns of the event loop.
    for (let turns = 0; turns < 2; turns += 1) await immediate();
    reports?.flush();
  }

  closeListener(port: number): void {
    this.#shared.close(port);
  }

  answered(ticket: number, answer: boolean): void {
    this.#asked.get(ticket)?.(answer);
    this.#asked.delete(ticket);
  }

  /** Ends one gateway after a mistake in this program. The daemon stops its server. */
  fault(gateway: number, error: unknown): void {
    tell({ type: 'fault', gateway, text: inspect(error).slice(0, 10_000) });
    this.close(gateway).catch(end);
  }

  #socketsOf(gateway: number): GatewaySockets {
    const { datagrams, lookups, listeners = [], local = [] } = this.#arriving.get(gateway) ?? {};
    this.#arriving.delete(gateway);
    if (datagrams === undefined || lookups === undefined) throw new Error('the gateway has no sockets');
    return { datagrams, lookups, listeners, local };
  }

  #ask(questionOf: (ticket: number) => FromGateways): Promise<boolean> {
    const ticket = ++this.#tickets;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#asked.set(ticket, resolve);
    tell(questionOf(ticket));
    return promise;
  }
}

/** For which gateway this process works at the moment. */
const working = new AsyncLocalStorage<number>();
let gateways: Gateways | undefined;

/**
 * Runs the egress gateways of all servers, in a process of their own. It handles bytes that servers send, so it has no
 * environment, can read only its own program, and cannot start others (the permission model of Node.js). A mistake that a
 * server causes ends the gateway of this server. The process ends with the daemon.
 */
export function serveGateways(): void {
  process.on('disconnect', () => process.exit());
  process.on('uncaughtException', (error: unknown) => {
    const gateway = working.getStore();
    if (gateway === undefined || gateways === undefined) end(error);
    else gateways.fault(gateway, error);
  });
  process.on('message', (message: ToGateways, handle: unknown) => {
    carryOut(message, handle).then(
      () => 'request' in message && tell({ type: 'done', request: message.request }),
      (error: unknown) => {
        if (!('request' in message)) return end(error);
        tell({ type: 'done', request: message.request, error: String(error).slice(0, 2_000) });
      },
    );
  });
}

async function carryOut(message: ToGateways, handle: unknown): Promise<void> {
  if (message.type === 'settings') {
    gateways = new Gateways(message);
    return;
  }
  if (gateways === undefined) throw new Error('the settings come first');
  switch (message.type) {
    case 'ping':
      return;
    case 'socket':
      return gateways.take(message.gateway, message.kind, handle);
    case 'open':
      return gateways.open(message);
    case 'rules':
      return gateways.change(message.gateway, new Rules(message.rules));
    case 'close':
      return gateways.close(message.gateway);
    case 'close listener':
      return gateways.closeListener(message.port);
    case 'switched':
      return gateways.answered(message.ticket, message.worked);
    case 'local decided':
      return gateways.answered(message.ticket, message.isAllowed);
    case 'relay':
      return gateways.openRelay(message.gateway);
    case 'bytes':
      return gateways.relay(message.gateway)?.receive(Buffer.from(message.bytes));
    case 'relay ended':
      return gateways.close(message.gateway);
    case 'publish':
      return gateways.relay(message.gateway)?.publishPort(message.path, message.port);
    case 'unpublish':
      return gateways.unpublishPort(message.path);
  }
}

/** Ends this process after a mistake that cannot be assigned to a server. The daemon starts another one. */
function end(error: unknown): void {
  process.stderr.write(`${inspect(error)}\n`);
  process.exit(1);
}
