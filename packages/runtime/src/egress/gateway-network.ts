import type { Server, Socket } from 'node:net';
import { unavailable } from '@toolhive/contract/failure';
import { alwaysListening } from '../egress.ts';
import { type ConnectionLimits, Entrance, connectionLimits } from './entrance.ts';
import { type EgressGateway, takeConnections } from './gateway.ts';
import { RESOLVER_ADDRESS, joiningScript, listeningScript, sharingScript } from './helper.ts';
import { MAX_SANDBOXES, sandboxAddress } from './names.ts';
import { type Descriptors, EgressNamespace, namespacesOf, openSockets, withResolver } from './namespace.ts';
import { exitOf, spawnSealed } from '../spawn.ts';
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
 * The network namespace to which all connections of sandboxes with rules lead, and its listeners. A second namespace for
 * each sandbox would take as much memory as everything else that a sandbox needs. It is made when it is first needed,
 * and exists as long as the daemon.
 */
export class GatewayNetwork {
  #shared: Promise<Descriptors> | undefined;
  readonly #listeners = new Map<number, SharedListener>();
  readonly #entrances = new Map<string, Entrance>();
  /** The addresses of namespaces that no gateway has entered yet, too. */
  readonly #taken = new Set<string>();
  readonly #limits: ConnectionLimits;
  #next = 0;

  constructor(limits = connectionLimits) {
    this.#limits = limits;
  }

  /** Makes a namespace that leads here. Nothing answers its connections before `enter`. */
  async makeNamespace(tools: EgressTools): Promise<SandboxNamespace> {
    const shared = await this.#open(tools);
    const { address, device } = this.#takeAddress();
    const before = [tools.nsenter, ...entering, '--', tools.unshare, '--net', '--'];
    const opening = { before, script: joiningScript(address, device), ports: [] };
    const inherited = [shared.network, shared.user];
    try {
      const namespace = await openSockets(
        tools,
        { ...opening, inherited, resolver: RESOLVER_ADDRESS },
        (sockets, pid) => new EgressNamespace(withResolver(sockets), namespacesOf(pid)),
      );
      return { namespace, address, device };
    } catch (error) {
      this.#taken.delete(address);
      throw error;
    }
  }

  /** Frees the address of a namespace that no gateway has entered. */
  drop({ namespace, address }: SandboxNamespace): void {
    namespace.closeSockets();
    namespace[Symbol.dispose]();
    this.#taken.delete(address);
  }

  /** Passes connections from a sandbox to its gateway, until disposal, which also frees the address. */
  enter(
    tools: EgressTools,
    { address, device }: Pick<SandboxNamespace, 'address' | 'device'>,
    gateway: EgressGateway,
  ): Disposable {
    const resources = new DisposableStack();
    resources.defer(() => this.#taken.delete(address));
    const setUp = (isUp: boolean): Promise<boolean> => this.#switch(tools, device, isUp);
    this.#entrances.set(address, resources.use(new Entrance(gateway, setUp, this.#limits)));
    resources.defer(() => this.#entrances.delete(address));
    return resources;
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
    const ports = [...alwaysListening];
    const opening = { before, script: sharingScript, inherited: [], ports };
    return openSockets(tools, opening, ({ listeners }, pid) => {
      for (const listener of listeners) takeConnections(listener, (inner) => this.#accept(inner));
      return namespacesOf(pid);
    });
  }

  /** The remote address identifies the sandbox, because the kernel has checked each packet's source. */
  #accept(inner: Socket): void {
    const entrance = this.#entrances.get(inner.remoteAddress ?? '');
    if (entrance === undefined) inner.on('error', () => {}).resetAndDestroy();
    else entrance.admit(inner);
  }

  /** Takes a sandbox's device down or up. Returns whether that worked. Never rejects. */
  async #switch(tools: EgressTools, device: string, isUp: boolean): Promise<boolean> {
    const setting = [tools.ip, 'link', 'set', device, isUp ? 'up' : 'down'];
    const args = [...entering, '--net=/proc/self/fd/4', '--', ...setting];
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
    await Promise.all(used.map((listener) => listener.opening));
    return undo.move();
  }

  async #openListeners(tools: EgressTools, ports: readonly number[]): Promise<Map<number, Server>> {
    const { network, user } = await this.#open(tools);
    const before = [tools.nsenter, ...entering, '--net=/proc/self/fd/4', '--'];
    const opening = { before, script: listeningScript, inherited: [network, user], ports };
    return openSockets(tools, opening, ({ listeners }) => {
      for (const listener of listeners) takeConnections(listener, (inner) => this.#accept(inner));
      return new Map(listeners.map((listener) => [portOf(listener), listener]));
    });
  }

  #release(port: number): void {
    const listener = this.#listeners.get(port);
    if (listener === undefined) return;
    listener.uses -= 1;
    if (listener.uses > 0) return;
    this.#listeners.delete(port);
    listener.opening.then(
      (opened) => opened.get(port)?.close(),
      () => {}, // the callers that waited have received the error
    );
  }
}

/** A listener that sandboxes use, and further ones that were opened with it. */
interface SharedListener {
  opening: Promise<ReadonlyMap<number, Server>>;
  uses: number;
}

/** The arguments with which `nsenter` gains power over the shared namespace and those of all sandboxes. */
const entering = ['--user=/proc/self/fd/5', '--preserve-credentials'];

function portOf(listener: Server): number {
  const address = listener.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
