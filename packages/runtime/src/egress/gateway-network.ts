import type { Server } from 'node:net';
import { unavailable } from '@toolhive/contract/failure';
import { type Egress, alwaysListening } from '../egress.ts';
import { exitOf, spawnSealed } from '../spawn.ts';
import type { GatewayProcess, OpenGateway } from './gateway-process.ts';
import type { NamespaceStep } from './connect-namespaces.ts';
import { RESOLVER_ADDRESS } from './link-addresses.ts';
import { MAX_SANDBOXES, sandboxAddress } from './names.ts';
import {
  type Descriptors,
  EgressNamespace,
  closeSockets,
  enteringOwner,
  namespacesOf,
  openSockets,
  withResolver,
} from './namespace.ts';
import type { EgressTools } from './tools.ts';

/** The network namespace of a sandbox. */
export interface SandboxNamespace {
  namespace: EgressNamespace;
  /** Where its connections come from. */
  address: string;
  /** The network device in the shared namespace that leads to it. */
  device: string;
}

/**
 * The network namespace to which all connections of sandboxes with rules lead, and its listeners, which belong to the process
 * of the gateways. A second namespace for each sandbox would take as much memory as everything else that a sandbox needs. It
 * is made when it is first needed, and exists as long as the daemon.
 */
export class GatewayNetwork {
  readonly #gateways: GatewayProcess;
  #shared: Promise<Descriptors> | undefined;
  /** By port. */
  readonly #listeners = new Map<number, SharedListener>();
  /** The addresses of namespaces that no gateway has entered yet, too. */
  readonly #taken = new Set<string>();
  #next = 0;

  constructor(gateways: GatewayProcess) {
    this.#gateways = gateways;
  }

  /** Makes a namespace that leads here. Nothing answers its connections before `openGateway`. */
  async makeNamespace(tools: EgressTools): Promise<SandboxNamespace> {
    const shared = await this.#open(tools);
    const { address, device } = this.#takeAddress();
    const before = [tools.nsenter, ...enteringOwner, '--', tools.unshare, '--net', '--'];
    const step: NamespaceStep = { step: 'join', address, device };
    const inherited = [shared.network, shared.user];
    const gateway = { entering: enteringOwner, ports: [] };
    try {
      const namespace = await openSockets(
        tools,
        { before, step, ports: [], inherited, resolver: RESOLVER_ADDRESS },
        (sockets, pid) => new EgressNamespace(withResolver(sockets), namespacesOf(pid), gateway),
      );
      return { namespace, address, device };
    } catch (error) {
      this.#taken.delete(address);
      throw error;
    }
  }

  /** Starts the process of the gateways before it is needed. Errors appear when it is. */
  prepare(): void {
    this.#gateways.prepare();
  }

  /** Frees a namespace that no gateway has entered. */
  drop({ namespace, address }: SandboxNamespace): void {
    closeSockets(namespace.sockets);
    namespace[Symbol.dispose]();
    this.#taken.delete(address);
  }

  /** Opens the gateway of a namespace. Disposal also frees the address. */
  async openGateway(
    tools: EgressTools,
    { namespace, address, device }: SandboxNamespace,
    egress: Egress,
  ): Promise<OpenGateway> {
    using undo = new DisposableStack();
    undo.defer(() => this.#taken.delete(address));
    const gateway = undo.use(
      await this.#gateways.open(egress, {
        kind: 'sockets',
        sockets: await namespace.withLocal(tools, egress.rules.localPorts),
        reopen: () => namespace.reopen(tools),
        source: address,
        setUp: (isUp) => this.#switch(tools, device, isUp),
      }),
    );
    const opened = undo.move();
    return { failed: gateway.failed, [Symbol.dispose]: () => opened.dispose() };
  }

  /** Addresses are used in turn, because a namespace that has just ended may not be gone yet. */
  #takeAddress(): { address: string; device: string } {
    for (let tried = 0; tried < MAX_SANDBOXES; tried += 1) {
      const number = this.#next++ % MAX_SANDBOXES;
      const address = sandboxAddress(number);
      if (this.#taken.has(address)) continue;
      this.#taken.add(address);
      return { address, device: `v${number}` };
    }
    throw unavailable(`at most ${MAX_SANDBOXES} sandboxes can have network rules at once`);
  }

  #open(tools: EgressTools): Promise<Descriptors> {
    this.#shared ??= this.#make(tools).catch((error: unknown) => {
      this.#shared = undefined;
      throw error;
    });
    return this.#shared;
  }

  async #make(tools: EgressTools): Promise<Descriptors> {
    const before = [tools.unshare, '--user', '--map-root-user', '--net', '--'];
    const step: NamespaceStep = { step: 'share' };
    const opening = { before, step, inherited: [], ports: [...alwaysListening] };
    const made = await openSockets(tools, opening, ({ listeners }, pid) => ({
      listeners,
      descriptors: namespacesOf(pid),
    }));
    await this.#gateways.share(made.listeners, () => this.#reopen(tools));
    return made.descriptors;
  }

  /** Opens all listeners again. */
  async #reopen(tools: EgressTools): Promise<readonly Server[]> {
    return this.#shared === undefined
      ? []
      : this.#listenOn(tools, [...alwaysListening, ...this.#listeners.keys()]);
  }

  async #listenOn(tools: EgressTools, ports: readonly number[]): Promise<Server[]> {
    const { network, user } = await this.#open(tools);
    const before = [tools.nsenter, ...enteringOwner, '--net=/proc/self/fd/4', '--'];
    const step: NamespaceStep = { step: 'listen' };
    const opening = { before, step, inherited: [network, user], ports };
    return openSockets(tools, opening, ({ listeners }) => listeners);
  }

  /** Takes a sandbox's device down or up. Returns whether that worked. Never rejects. */
  async #switch(tools: EgressTools, device: string, isUp: boolean): Promise<boolean> {
    const setting = [tools.ip, 'link', 'set', device, isUp ? 'up' : 'down'];
    const args = [...enteringOwner, '--net=/proc/self/fd/4', '--', ...setting];
    try {
      const { network, user } = await this.#open(tools);
      const stdio = [undefined, undefined, undefined, undefined, network, user];
      return (await exitOf(spawnSealed(tools.nsenter, args, stdio))).code === 0;
    } catch {
      return false; // for example because the daemon cannot open any more files
    }
  }

  /** Listens on the ports that the rules of a sandbox allow, beside the usual ones, until disposal. */
  async listen(tools: EgressTools, wanted: readonly number[]): Promise<Disposable> {
    const ports = [...new Set(wanted)].filter((port) => !alwaysListening.has(port));
    const added = ports.filter((port) => !this.#listeners.has(port));
    const opening = added.length === 0 ? undefined : this.#openListeners(tools, added);
    for (const port of added) if (opening !== undefined) this.#listeners.set(port, { opening, uses: 0 });
    const used = ports.flatMap((port) => this.#listeners.get(port) ?? []);
    for (const listener of used) listener.uses += 1;
    using undo = new DisposableStack();
    undo.defer(() => {
      for (const port of ports) this.#release(port);
    });
    this.#gateways.prepare();
    await Promise.all(used.map((listener) => listener.opening));
    return undo.move();
  }

  async #openListeners(tools: EgressTools, ports: readonly number[]): Promise<void> {
    await this.#gateways.share(await this.#listenOn(tools, ports), () => this.#reopen(tools));
  }

  #release(port: number): void {
    const listener = this.#listeners.get(port);
    if (listener === undefined) return;
    listener.uses -= 1;
    if (listener.uses > 0) return;
    this.#listeners.delete(port);
    listener.opening.then(
      () => this.#listeners.has(port) || this.#gateways.closeShared(port),
      () => {}, // the callers that waited have received the error
    );
  }
}

/** A listener that sandboxes use, and further ones that were opened with it. */
interface SharedListener {
  opening: Promise<void>;
  uses: number;
}
