import type { Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { raiseFault } from '@toolhive/contract/fault';
import { messageOf } from '@toolhive/contract/failure';
import { SerialQueue } from '@toolhive/contract/serial-queue';
import type { Egress, Traffic } from '../egress.ts';
import { proxyVariables } from '../corporate-proxy.ts';
import { trustedCertificates } from '../system-trust.ts';
import type { OutboundRules } from '../outbound-rules.ts';
import { type ConnectionLimits, connectionLimits } from './connection-limiter.ts';
import type { GatewaySockets } from './gateway.ts';
import type { CorporateProxies } from './corporate.ts';
import { GatewayChannel } from './gateway-channel.ts';
import type { FromGateways } from './gateway-messages.ts';
import { MAX_NAMES } from './names.ts';
import { closeSockets } from './namespace.ts';
import { OwnPorts } from './own-ports.ts';

export interface GatewayProcessOptions {
  /** The resolvers to ask, with ports, instead of those of this machine. */
  nameServers?: readonly string[];
  /** Names the corporate proxies. By default, the environment of this process. */
  env?: NodeJS.ProcessEnv;
  /** Replaces the limits on connections, in tests. */
  limits?: ConnectionLimits;
  /** Replaces how long the process may not respond, in tests. */
  patienceMs?: number;
  log?: (message: string, fields: Record<string, unknown>) => void;
}

/** How the lookups and connections of a server get to its gateway. */
export type GatewayWay =
  | {
      kind: 'sockets';
      /** The process takes them over. */
      sockets: GatewaySockets;
      /** Opens the sockets again after the process has ended. */
      reopen: () => Promise<GatewaySockets>;
      /** Where connections through the shared listeners come from that are for this gateway. */
      source?: string;
      /** Takes the network device of the server up or down, and returns whether it could. */
      setUp?: (isUp: boolean) => Promise<boolean>;
    }
  | { kind: 'relay'; relay: OpenRelay };

/** A gateway in the process. Disposal ends all of its connections. */
export interface OpenGateway extends Disposable {
  /** Settles with the reason if the gateway ended and does not come back, so that its server has no network. Never rejects. */
  readonly failed: Promise<string>;
}

/** A container whose network a server joins, and which passes on what arrives there (`relayed-sockets.ts`). */
export interface Relay {
  /** Sends bytes to it. */
  write: (bytes: Uint8Array) => void;
  /** Receives messages of the relay about itself. */
  onSaid: (text: string) => void;
  /** Called if the process has ended. The relay cannot go on in the middle of a stream. */
  onLost: () => void;
}

export interface OpenRelay extends Disposable {
  readonly number: number;
  /** Passes on bytes that it sent. Returns false if the sender should wait until `drained`. */
  receive(bytes: Buffer, drained: () => void): boolean;
  /** Passes connections to a Unix socket or a named pipe to a port of the server, until disposal. */
  publishPort(path: string, port: number): Promise<Disposable>;
}

interface Gateway {
  egress: Egress;
  way: GatewayWay;
  /** The names that programs of the server may still use, with their addresses. */
  names: Map<string, string>;
  /** What to call at the end of each connection. */
  endings: Map<number, (traffic: Traffic) => void>;
  fail: (reason: string) => void;
}

/** After how many ends within a minute the next start waits, and how long. */
const QUICK_RESTARTS = 3;
const RECENT_MS = 60_000;
const RESTART_DELAY_MS = 10_000;
/** Long enough for a machine that is busy with other things. */
const PATIENCE_MS = 30_000;

/**
 * The process in which all egress gateways run, so that bytes that a server sends can neither end nor delay the daemon. It
 * starts with the first gateway, and ends with the daemon. If it ends earlier, another one takes over all gateways: open
 * connections break, and new ones work again after a moment.
 */
export class GatewayProcess {
  /** The local ports that belong to ToolHive, which no server may reach. */
  readonly ownPorts = new OwnPorts();
  readonly #options: GatewayProcessOptions;
  readonly #gateways = new Map<number, Gateway>();
  readonly #closing = new Map<number, Gateway>();
  readonly #relays = new Map<number, Relay>();
  #channel: Promise<GatewayChannel> | undefined;
  #last = 0;
  readonly #replacements = new SerialQueue();
  /** When the process has ended, lately. */
  #ends: number[] = [];
  /** Shared listeners for which there is no process yet. */
  #waiting: Server[] = [];
  #reopenShared: () => Promise<readonly Server[]> = async () => [];

  constructor(options: GatewayProcessOptions = {}) {
    this.#options = options;
  }

  /** The ID of the running process. */
  async pid(): Promise<number | undefined> {
    return (await this.#channel?.catch(() => undefined))?.pid;
  }

  /** Starts the process before it is needed. Errors appear when it is. */
  prepare(): void {
    this.#open().catch(() => {});
  }

  /** Opens a gateway. The sockets are closed if that fails. */
  async open(egress: Egress, way: GatewayWay): Promise<OpenGateway> {
    const number = way.kind === 'relay' ? way.relay.number : ++this.#last;
    const { promise: failed, resolve: fail } = Promise.withResolvers<string>();
    using undo = new DisposableStack();
    const channel = await this.#open().catch((error: unknown) => {
      if (way.kind === 'sockets') closeSockets(way.sockets);
      throw error;
    });
    this.#gateways.set(number, { egress, way, names: new Map(), endings: new Map(), fail });
    undo.defer(() => this.#close(number, channel));
    undo.use(egress.watchRules(() => this.#changeRules(number, egress.rules.outbound)));
    await this.#hand(channel, number, way.kind === 'relay' ? undefined : way.sockets);
    const opened = undo.move();
    return { failed, [Symbol.dispose]: () => opened.dispose() };
  }

  async #changeRules(gateway: number, rules: OutboundRules): Promise<void> {
    try {
      const channel = await this.#channel;
      await channel?.ask({ type: 'rules', gateway, rules });
    } catch {
      // The process has ended. The next one gets the current rules.
    }
  }

  /** The gateway goes on reporting until all of its connections have ended. */
  #close(number: number, first: GatewayChannel): void {
    const gateway = this.#gateways.get(number);
    if (gateway === undefined || !this.#gateways.delete(number)) return;
    this.#closing.set(number, gateway);
    (this.#channel ?? Promise.resolve(first))
      .then((channel) => channel.ask({ type: 'close', gateway: number }))
      .catch(() => endAll(gateway)) // with the process, everything has ended
      .finally(() => this.#closing.delete(number))
      .catch(raiseFault);
  }

  async openRelay(relay: Relay): Promise<OpenRelay> {
    const number = ++this.#last;
    const channel = await this.#open();
    this.#relays.set(number, relay);
    await channel.ask({ type: 'relay', gateway: number });
    return {
      number,
      receive: (bytes, drained) => channel.tell({ type: 'bytes', gateway: number, bytes }, drained),
      publishPort: async (path, port) => {
        await channel.ask({ type: 'publish', gateway: number, path, port });
        return {
          [Symbol.dispose]: () => {
            channel.tell({ type: 'unpublish', path });
          },
        };
      },
      [Symbol.dispose]: () => {
        this.#relays.delete(number);
        channel.tell({ type: 'relay ended', gateway: number });
      },
    };
  }

  /** Passes on listeners for the servers of several gateways. `reopen` opens all of them again. */
  async share(listeners: readonly Server[], reopen: () => Promise<readonly Server[]>): Promise<void> {
    this.#reopenShared = reopen;
    if (this.#channel === undefined) this.#waiting.push(...listeners);
    else await handShared(await this.#channel, listeners);
  }

  closeShared(port: number): void {
    this.#tell({ type: 'close listener', port });
  }

  #tell(message: Parameters<GatewayChannel['tell']>[0]): void {
    this.#channel?.then(
      (channel) => channel.tell(message),
      () => {}, // the process that starts next gets the current state
    );
  }

  #open(): Promise<GatewayChannel> {
    this.#channel ??= this.#start().catch((error: unknown) => {
      this.#channel = undefined;
      throw error;
    });
    return this.#channel;
  }

  async #start(): Promise<GatewayChannel> {
    const {
      nameServers,
      limits = connectionLimits,
      env = process.env,
      patienceMs = PATIENCE_MS,
      log = () => {},
    } = this.#options;
    const channel = await GatewayChannel.open({
      settings: { nameServers, limits, proxies: proxiesOf(env) },
      patienceMs,
      onMessage: (message) => this.#receive(channel, message),
    });
    channel.ended
      .then((reason) => {
        log('the process of the egress gateways ended', { reason, gateways: this.#gateways.size });
        this.#channel = undefined;
        return this.#replacements.run(() => this.#replace());
      })
      .catch(raiseFault);
    await handShared(channel, this.#waiting.splice(0)).catch((error: unknown) => {
      channel.kill(); // it would have no shared listeners
      throw error;
    });
    return channel;
  }

  /** Starts another process after an unexpected end. If that one ends, too, the next replacement follows. */
  async #replace(): Promise<void> {
    for (const relay of this.#relays.values()) relay.onLost();
    this.#relays.clear();
    for (const gateway of this.#gateways.values()) endAll(gateway);
    if (this.#gateways.size === 0) return;
    const now = performance.now();
    this.#ends = [...this.#ends.filter((end) => end > now - RECENT_MS), now];
    if (this.#ends.length > QUICK_RESTARTS) await delay(RESTART_DELAY_MS, undefined, { ref: false });
    let channel: GatewayChannel | undefined;
    try {
      channel = await this.#open();
      const open = channel;
      await handShared(open, await this.#reopenShared());
      await Promise.all([...this.#gateways.keys()].map((number) => this.#reopen(open, number)));
    } catch (error) {
      if (channel?.hasEnded === true) return;
      const reason = `lost its network, because the egress gateways could not be started again: ${messageOf(error)}`;
      for (const gateway of this.#gateways.values()) gateway.fail(reason);
    }
  }

  async #reopen(channel: GatewayChannel, number: number): Promise<void> {
    const gateway = this.#gateways.get(number);
    if (gateway === undefined || gateway.way.kind === 'relay') return;
    try {
      const sockets = await gateway.way.reopen();
      if (this.#gateways.has(number)) await this.#hand(channel, number, sockets);
      else closeSockets(sockets);
    } catch (error) {
      if (channel.hasEnded) return;
      gateway.fail(
        `lost its network, because its egress gateway could not be opened again: ${messageOf(error)}`,
      );
    }
  }

  /** Passes a gateway on, and closes the sockets here. */
  async #hand(channel: GatewayChannel, number: number, sockets: GatewaySockets | undefined): Promise<void> {
    const gateway = this.#gateways.get(number);
    if (gateway === undefined) return;
    const { egress, names, way } = gateway;
    try {
      if (sockets !== undefined) {
        const { datagrams, lookups, listeners, local = [] } = sockets;
        const others = listeners.map((listener) => ['listener', listener] as const);
        const locals = local.map((listener) => ['local', listener] as const);
        await channel.hand(number, [['datagrams', datagrams], ['lookups', lookups], ...others, ...locals]);
      }
    } finally {
      if (sockets !== undefined) closeSockets(sockets);
    }
    const source = way.kind === 'sockets' ? way.source : undefined;
    const rules = egress.rules.outbound;
    await channel.ask({ type: 'open', gateway: number, rules, names: [...names], source });
  }

  #receive(channel: GatewayChannel, message: Exclude<FromGateways, { type: 'done' }>): void {
    const gateway = this.#gateways.get(message.gateway) ?? this.#closing.get(message.gateway);
    switch (message.type) {
      case 'bytes':
        return this.#relays.get(message.gateway)?.write(message.bytes);
      case 'relay said':
        return this.#relays.get(message.gateway)?.onSaid(message.text);
      case 'report':
        return gateway === undefined ? undefined : take(gateway, message);
      case 'fault':
        this.#options.log?.('an egress gateway failed', { text: message.text });
        return gateway?.fail('lost its network because of an internal error of ToolHive');
      case 'switch':
        return this.#switch(channel, gateway, message);
      case 'local':
        return this.#decideLocal(channel, gateway, message);
    }
  }

  /** Whether a connection may go to a local port, as the rules and the listeners are now. */
  #decideLocal(
    channel: GatewayChannel,
    gateway: Gateway | undefined,
    { port, ticket }: Extract<FromGateways, { type: 'local' }>,
  ): void {
    const isGranted = gateway?.egress.rules.localPorts.includes(port) === true;
    const deciding = isGranted ? this.ownPorts.has(port) : Promise.resolve(true);
    deciding
      .catch(() => true) // what cannot be checked is refused
      .then((isOwn) => channel.tell({ type: 'local decided', ticket, isAllowed: !isOwn }))
      .catch(raiseFault);
  }

  #switch(
    channel: GatewayChannel,
    gateway: Gateway | undefined,
    { isUp, ticket }: Extract<FromGateways, { type: 'switch' }>,
  ): void {
    const setUp = gateway?.way.kind === 'sockets' ? gateway.way.setUp : undefined;
    const done = setUp === undefined ? Promise.resolve(false) : setUp(isUp);
    done
      .catch(() => false)
      .then((worked) => channel.tell({ type: 'switched', ticket, worked }))
      .catch(raiseFault);
  }
}

async function handShared(channel: GatewayChannel, listeners: readonly Server[]): Promise<void> {
  try {
    const sockets = listeners.map((listener) => ['shared', listener] as const);
    await channel.hand(0, sockets);
  } finally {
    for (const listener of listeners) listener.close();
  }
}

function take(
  gateway: Gateway,
  { decisions, ended, names }: Extract<FromGateways, { type: 'report' }>,
): void {
  const { egress, endings } = gateway;
  for (const { decision, times, connection } of decisions) {
    const end = egress.record(decision, times);
    if (end !== undefined && connection !== undefined) endings.set(connection, end);
  }
  for (const { connection, ...traffic } of ended) {
    endings.get(connection)?.(traffic);
    endings.delete(connection);
  }
  for (const [name, address] of names) {
    gateway.names.delete(name); // the latest is the last
    gateway.names.set(name, address);
    if (gateway.names.size > MAX_NAMES) gateway.names.delete(gateway.names.keys().next().value ?? '');
  }
}

/** The process has no environment and reads no files, so it gets all its settings here. */
function proxiesOf(env: NodeJS.ProcessEnv): CorporateProxies {
  const named = proxyVariables(env);
  const isSecure = Object.values(named).some((value) => /^\s*https:/i.test(value));
  return { variables: named, ca: isSecure ? trustedCertificates() : undefined };
}

/** The connections of a process that has ended are over, however much they have carried. */
function endAll({ endings }: Gateway): void {
  for (const end of endings.values()) end({ sent: 0, received: 0 });
  endings.clear();
}
