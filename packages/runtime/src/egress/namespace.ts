import { randomBytes } from 'node:crypto';
import type { Socket as Datagrams } from 'node:dgram';
import { closeSync, openSync } from 'node:fs';
import { Server, type Socket } from 'node:net';
import { unavailable } from '@toolhive/contract/failure';
import { embeddedProgram } from '../embedded-program.ts';
import { exitOf, spawnSealed } from '../spawn.ts';
import { frugalNode } from '../frugal-node.ts';
import { alwaysListening } from '../egress.ts';
import type { GatewaySockets } from './gateway.ts';
import { type NamespaceStep, connectNamespaces, outcomes } from './connect-namespaces.ts';
import { RESOLVER_ADDRESS } from './link-addresses.ts';
import type { EgressTools } from './tools.ts';

/**
 * A network namespace from which a server reaches only its gateway, and the sockets for it. It exists as long as a
 * process or a descriptor uses it. The caller that takes the sockets owns them.
 */
export class EgressNamespace implements Disposable {
  readonly sockets: GatewaySockets;
  /** Descriptors for `nsenter`: the network namespace and the user namespace that owns it. */
  readonly network: number;
  readonly user: number;
  /** Whose network namespace the descriptor is. */
  readonly side: 'server' | 'gateway';
  readonly #gateway: GatewaySide;
  #localPorts: readonly number[] = [];
  #isClosed = false;

  constructor(
    sockets: GatewaySockets,
    { network, user }: Descriptors,
    gateway: GatewaySide,
    side: EgressNamespace['side'] = 'server',
  ) {
    this.sockets = sockets;
    this.network = network;
    this.user = user;
    this.#gateway = gateway;
    this.side = side;
  }

  /**
   * The sockets, with listeners for ports of the server's own loopback addresses. The caller owns all of them. Throws
   * `unavailable` if the daemon cannot enter the namespace of the server, and then closes the sockets.
   */
  withLocal(tools: EgressTools, ports: readonly number[]): Promise<GatewaySockets> {
    this.#localPorts = ports;
    return this.#withLocal(tools, this.sockets);
  }

  async #withLocal(tools: EgressTools, sockets: GatewaySockets): Promise<GatewaySockets> {
    if (this.#localPorts.length === 0) return sockets;
    try {
      if (this.side === 'gateway') throw unavailable(noLocalPorts.message, { hint: noLocalPorts.hint });
      const before = [tools.nsenter, ...this.#gateway.entering, '--net=/proc/self/fd/4', '--'];
      const inherited = [this.network, this.user];
      const opening: Opening = {
        before,
        step: { step: 'listen' },
        inherited,
        ports: [],
        localPorts: this.#localPorts,
      };
      return await openSockets(tools, opening, ({ local }) => ({ ...sockets, local }));
    } catch (error) {
      closeSockets(sockets);
      throw error;
    }
  }

  /** Opens the same sockets again, whose owner has ended. */
  async reopen(tools: EgressTools): Promise<GatewaySockets> {
    const { network = this.network, entering, ports } = this.#gateway;
    const before = [tools.nsenter, ...entering, '--net=/proc/self/fd/4', '--'];
    const inherited = [network, this.user];
    const opening: Opening = {
      before,
      step: { step: 'listen' },
      inherited,
      ports,
      resolver: RESOLVER_ADDRESS,
    };
    return this.#withLocal(tools, await openSockets(tools, opening, withResolver));
  }

  /**
   * Connects an existing network namespace that has only its loopback interface. Takes ownership of the descriptors,
   * even if it throws. Only root and the creator of the owning user namespace can do this.
   */
  static async connect(
    tools: EgressTools,
    wanted: readonly number[],
    descriptors: Descriptors,
  ): Promise<EgressNamespace> {
    try {
      const { network, user } = descriptors;
      const entering = enteringUser(5);
      const before = [
        ...(entering.length > 0 ? [tools.nsenter, ...entering, '--'] : []),
        tools.unshare,
        '--net',
        '--',
      ];
      const parts: Opening = {
        before,
        step: { step: 'connect' },
        inherited: [network, user],
        ...own(wanted),
      };
      return await openSockets(tools, parts, (sockets, pid) => {
        const opened = withResolver(sockets);
        const gateway = { network: openSync(`/proc/${pid}/ns/net`, 'r'), entering, ports: parts.ports };
        return new EgressNamespace(opened, descriptors, gateway);
      });
    } catch (error) {
      for (const descriptor of Object.values(descriptors)) closeSync(descriptor);
      throw error;
    }
  }

  /**
   * Makes only the gateway's namespace, and leaves its connection to a server's namespace to `fetchEnd`, for which the
   * network interface with this name waits in the namespace of this process.
   */
  static async openGateway(
    tools: EgressTools,
    wanted: readonly number[],
    fetchEnd: (end: { pid: number; name: string }) => Promise<void>,
  ): Promise<EgressNamespace> {
    const name = `thv${randomBytes(5).toString('hex')}`; // an interface name has at most 15 characters
    const before = [tools.unshare, '--user', '--map-root-user', '--net', '--'];
    const parts: Opening = { before, step: { step: 'prepare', device: name }, inherited: [], ...own(wanted) };
    const fetch = (pid: number): Promise<void> => fetchEnd({ pid, name });
    const gateway = { entering: enteringOwner, ports: parts.ports };
    return openSockets(
      tools,
      parts,
      (sockets, pid) => new EgressNamespace(withResolver(sockets), namespacesOf(pid), gateway, 'gateway'),
      fetch,
    );
  }

  /** Closes the descriptors, which the processes and sockets in the namespace do not need. */
  [Symbol.dispose](): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    closeSync(this.network);
    closeSync(this.user);
    if (this.#gateway.network !== undefined) closeSync(this.#gateway.network);
  }
}

/** Where the sockets of a gateway are opened. */
interface GatewaySide {
  /** A descriptor of the network namespace, if it is not the one of the server. */
  network?: number;
  /** The arguments with which `nsenter` gains power over it, with the user namespace as descriptor 5. */
  entering: readonly string[];
  ports: readonly number[];
}

/** The arguments with which `nsenter` gains power over the namespaces that belong to the user namespace of descriptor 5. */
export const enteringOwner = ['--user=/proc/self/fd/5', '--preserve-credentials'];

export type Descriptors = Pick<EgressNamespace, 'network' | 'user'>;

/** Opens the namespaces of a helper that has not ended. */
export function namespacesOf(pid: number): Descriptors {
  const user = openSync(`/proc/${pid}/ns/user`, 'r');
  try {
    return { network: openSync(`/proc/${pid}/ns/net`, 'r'), user };
  } catch (error) {
    closeSync(user);
    throw error;
  }
}

/**
 * The arguments with which `nsenter` enters a container network. Users other than root must enter through the owning
 * user namespace, which is the descriptor.
 */
export const enteringUser = (descriptor: number): string[] =>
  process.getuid?.() === 0 ? [] : [`--user=/proc/self/fd/${descriptor}`, '--preserve-credentials'];

/** The sockets of a gateway that shares none with others. */
const own = (wanted: readonly number[]) => ({
  ports: [...new Set([...alwaysListening, ...wanted])],
  resolver: RESOLVER_ADDRESS,
});

export interface Opening {
  /** The command that starts the shell. */
  before: readonly string[];
  /** How the shell prepares the namespace. */
  step: NamespaceStep;
  /** Further descriptors of the helper, from 4 on. */
  inherited: readonly number[];
  /** The ports to listen on, on every address. */
  ports: readonly number[];
  /** The address to answer name lookups on, if any. */
  resolver?: string;
  /** The ports to listen on, on the loopback addresses. */
  localPorts?: readonly number[];
}

/** Why some containers cannot have local ports. */
export const noLocalPorts = {
  message:
    'ToolHive cannot enter the network of this container, so the server cannot reach ports of this machine',
  hint: 'run the server in the sandbox, or remove the local ports and connect to another address of this machine',
};

/** The sockets that a helper opened. */
interface Opened {
  datagrams?: Datagrams;
  lookups?: Server;
  listeners: Server[];
  local: Server[];
}

export function closeSockets({ datagrams, lookups, listeners, local = [] }: GatewaySockets): void {
  for (const socket of [datagrams, lookups, ...listeners, ...local]) socket.close();
}

/** Requires the sockets for name lookups, which the helper was asked to open. */
export function withResolver({ datagrams, lookups, listeners }: Opened): GatewaySockets {
  if (datagrams !== undefined && lookups !== undefined) return { datagrams, lookups, listeners };
  throw unavailable('the network for a sandbox cannot be created: the helper opened no resolver');
}

/** Runs the helper. Calls `complete` after the step, and `take` while the helper's descriptors can be opened. */
export async function openSockets<Made>(
  tools: EgressTools,
  { before, step, inherited, ports, resolver, localPorts = [] }: Opening,
  take: (sockets: Opened, pid: number) => Made,
  complete: (pid: number) => Promise<void> = async () => {},
): Promise<Made> {
  const { node, sh } = tools;
  const helperProgram = [node, ...frugalNode, '-e', embeddedProgram('open-sockets.ts')];
  const opening = [...helperProgram, ports.join(), resolver ?? '', localPorts.join()];
  const count = ports.length + 2 * localPorts.length + (resolver === undefined ? 0 : 2);
  const [program = sh, ...args] = [...before, sh, ...connectNamespaces(tools, step, opening)];
  const helper = spawnSealed(program, args, ['pipe', 'pipe', 'pipe', 'ipc', ...inherited]);
  helper.stdin?.on('error', () => {}); // the process has ended, and its exit explains why
  let said = '';
  helper.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString().slice(0, 2000)));
  const ended = exitOf(helper);
  try {
    const failed = ended.then(() => {
      throw unavailable(`the network for a sandbox cannot be created: ${said.trim() || 'the helper ended'}`);
    });
    const completed = untilConnected(helper).then(() => complete(helper.pid ?? 0));
    await Promise.race([completed, failed]);
    helper.send('connected', () => {});
    const sockets = await Promise.race([takeSockets(helper, count), failed]);
    const made = take(sockets, helper.pid ?? 0);
    helper.send('taken', () => {});
    return made;
  } catch (error) {
    helper.kill('SIGKILL');
    throw error;
  }
}

/** Waits until the namespaces are connected. Throws the programs' error. */
async function untilConnected({ stdout }: ReturnType<typeof spawnSealed>): Promise<void> {
  let said = '';
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  stdout?.on('data', (chunk: Buffer) => {
    said += chunk.toString().slice(0, 2000);
    const [, reason = '', outcome] = /^(.*\n)?(\w+)\n$/s.exec(said) ?? [];
    if (outcome === outcomes.connected) resolve();
    if (outcome !== outcomes.failed) return;
    reject(unavailable(`the network for a sandbox cannot be created: ${reason.trim()}`));
  });
  return promise;
}

async function takeSockets(helper: ReturnType<typeof spawnSealed>, count: number): Promise<Opened> {
  const opened: Opened = { listeners: [], local: [] };
  let left = count;
  const { promise, resolve, reject } = Promise.withResolvers<Opened>();
  helper.on('message', (what: unknown, handle: unknown) => {
    if (what === 'datagrams')
      opened.datagrams = handle as Datagrams; // sent as such by the helper
    else if (what === 'lookups' && handle instanceof Server) opened.lookups = handle;
    else if (what === 'listener' && handle instanceof Server) opened.listeners.push(handle);
    else if (what === 'local' && handle instanceof Server) opened.local.push(handle);
    else if (what !== 'absent')
      return reject(unavailable(`the network for a sandbox cannot be created: ${String(what)}`));
    (handle as Datagrams | Server | undefined)?.unref(); // as above
    // Sockets are passed on. What arrives before that has to come again.
    if (handle instanceof Server) handle.on('connection', (early: Socket) => early.resetAndDestroy());
    left -= 1;
    if (left === 0) resolve(opened);
  });
  return promise;
}
