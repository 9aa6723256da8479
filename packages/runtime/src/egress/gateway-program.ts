import { AsyncLocalStorage } from 'node:async_hooks';
import type { Socket as Datagrams } from 'node:dgram';
import type { Server } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import { inspect } from 'node:util';
import { Rules } from '../outbound-rules.ts';
import type { CorporateProxies } from './corporate.ts';
import { ConnectionPlaces, EgressGateway, type GatewaySockets } from './gateway.ts';
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
  reports: GatewayReports;
  resources: DisposableStack;
}

/** All gateways, and their common parts. */
class Gateways {
  readonly #resolve: Resolve;
  readonly #places: ConnectionPlaces;
  readonly #proxies: CorporateProxies;
  readonly #shared: SharedListeners;
  readonly #arriving = new Map<number, Arriving>();
  readonly #open = new Map<number, Open>();
  readonly #relays = new Map<number, RelayedSockets>();
  readonly #switching = new Map<number, (worked: boolean) => void>();
  #tickets = 0;

  constructor({ nameServers, limits, openFiles, proxies }: Extract<ToGateways, { type: 'settings' }>) {
    this.#resolve = openResolver(nameServers);
    this.#places = new ConnectionPlaces(openFiles);
    this.#proxies = proxies;
    this.#shared = new SharedListeners(limits);
  }

  take(gateway: number, kind: SocketKind, handle: unknown): void {
    if (kind === 'shared') return this.#shared.add(handle as Server);
    const arriving = this.#arriving.get(gateway) ?? {};
    this.#arriving.set(gateway, arriving);
    if (kind === 'datagrams') arriving.datagrams = handle as Datagrams;
    else if (kind === 'lookups') arriving.lookups = handle as Server;
    else arriving.listeners = [...(arriving.listeners ?? []), handle as Server];
  }

  open({ gateway, rules, names, source }: GatewayToOpen): void {
    const sockets = this.#socketsOf(gateway);
    const reports = new GatewayReports(gateway, new Rules(rules), tell);
    const resources = new DisposableStack();
    working.run(gateway, () => {
      const opened = new EgressGateway({
        sockets,
        egress: reports,
        resolve: this.#resolve,
        onFault: (error) => this.fault(gateway, error),
        names,
        onName: reports.addName,
        places: this.#places,
        proxies: this.#proxies,
      });
      resources.use(opened);
      if (source === undefined) return;
      resources.use(this.#shared.enter(source, opened, (isUp) => this.#switch(gateway, isUp)));
    });
    this.#open.set(gateway, { reports, resources });
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
    if (found !== undefined) found.reports.rules = rules;
  }

  /** Can be repeated. Returns when everything was reported. */
  async close(gateway: number): Promise<void> {
    const { resources, reports } = this.#open.get(gateway) ?? {};
    this.#open.delete(gateway);
    resources?.dispose();
    this.#relays.get(gateway)?.[Symbol.dispose]();
    this.#relays.delete(gateway);
    const { datagrams, lookups, listeners = [] } = this.#arriving.get(gateway) ?? {};
    this.#arriving.delete(gateway);
    for (const socket of [datagrams, lookups, ...listeners]) socket?.close();
    // Destroyed connections tell their traffic in the next turns of the event loop.
    for (let turns = 0; turns < 2; turns += 1) await immediate();
    reports?.flush();
  }

  closeListener(port: number): void {
    this.#shared.close(port);
  }

  switched(ticket: number, worked: boolean): void {
    this.#switching.get(ticket)?.(worked);
    this.#switching.delete(ticket);
  }

  /** Ends one gateway after a mistake in this program. The daemon stops its server. */
  fault(gateway: number, error: unknown): void {
    tell({ type: 'fault', gateway, text: inspect(error).slice(0, 10_000) });
    this.close(gateway).catch(end);
  }

  #socketsOf(gateway: number): GatewaySockets {
    const { datagrams, lookups, listeners = [] } = this.#arriving.get(gateway) ?? {};
    this.#arriving.delete(gateway);
    if (datagrams === undefined || lookups === undefined) throw new Error('the gateway has no sockets');
    return { datagrams, lookups, listeners };
  }

  #switch(gateway: number, isUp: boolean): Promise<boolean> {
    const ticket = ++this.#tickets;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#switching.set(ticket, resolve);
    tell({ type: 'switch', gateway, isUp, ticket });
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
      return gateways.switched(message.ticket, message.worked);
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
