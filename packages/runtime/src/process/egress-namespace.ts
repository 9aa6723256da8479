import type { Socket as Datagrams } from 'node:dgram';
import { closeSync, openSync } from 'node:fs';
import { Server } from 'node:net';
import { isSea } from 'node:sea';
import { unavailable } from '@toolhive/contract/failure';
import { exitOf, spawnSealed } from './spawn.ts';
import { alwaysListening } from '../egress.ts';
import type { GatewaySockets } from '../egress/gateway.ts';
import { helperSource } from './egress-helper.ts';

/** The programs that connect a network namespace to its gateway. */
export interface EgressTools {
  unshare: string;
  nsenter: string;
  ip: string;
  sh: string;
  node: string;
}

/**
 * A network namespace for one server whose only neighbor is the gateway, and the gateway's sockets. It exists as long as
 * a process is in it or a descriptor refers to it.
 */
export class EgressNamespace implements Disposable {
  readonly sockets: GatewaySockets;
  /** Descriptors of this process, for `nsenter`: the network namespace, and the user namespace that owns it. */
  readonly network: number;
  readonly user: number;
  #isClosed = false;

  private constructor(pid: number, sockets: GatewaySockets) {
    this.sockets = sockets;
    this.network = openSync(`/proc/${pid}/fd/4`, 'r');
    this.user = openSync(`/proc/${pid}/ns/user`, 'r');
  }

  /** Makes one, with a listener for each of the ports and for those where refusals are recorded. */
  static async open(tools: EgressTools, wanted: readonly number[]): Promise<EgressNamespace> {
    const ports = new Set([...alwaysListening, ...wanted]);
    const { unshare, sh, node, ip, nsenter } = tools;
    // The helper holds the namespace of the server as descriptor 4, and is itself in a second one, of the gateway.
    const beside = `exec 4</proc/self/ns/net; exec ${JSON.stringify(unshare)} --net -- "$@"`;
    const helper = spawnSealed(
      unshare,
      ['--user', '--map-root-user', '--net', '--', sh, '-c', beside, 'sh']
        .concat([node, '--v8-pool-size=0', '--max-old-space-size=32', '-e', helperSource])
        .concat([ip, nsenter, [...ports].join()]),
      [undefined, undefined, 'pipe', 'ipc'],
    );
    let said = '';
    helper.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString().slice(0, 2000)));
    const ended = exitOf(helper);
    try {
      const sockets = await Promise.race([
        takeSockets(helper, ports.size),
        ended.then(() => {
          throw unavailable(`a network for a sandbox cannot be made: ${said.trim() || 'the helper ended'}`);
        }),
      ]);
      const made = new EgressNamespace(helper.pid ?? 0, sockets);
      helper.send('taken', () => {});
      return made;
    } catch (error) {
      helper.kill('SIGKILL');
      throw error;
    }
  }

  /** Closes the sockets of a namespace that no gateway uses. */
  closeSockets(): void {
    const { datagrams, lookups, listeners } = this.sockets;
    for (const socket of [datagrams, lookups, ...listeners]) socket.close();
  }

  /** Closes the descriptors, which the processes and sockets in the namespace do not need. */
  [Symbol.dispose](): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    closeSync(this.network);
    closeSync(this.user);
  }
}

/** Node.js as a program of its own. The single executable is none. */
export const nodeProgram = (found: string | undefined) => (isSea() ? found : process.execPath);

async function takeSockets(
  helper: ReturnType<typeof spawnSealed>,
  listenerCount: number,
): Promise<GatewaySockets> {
  let datagrams: Datagrams | undefined;
  let lookups: Server | undefined;
  const listeners: Server[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<GatewaySockets>();
  helper.on('message', (what: unknown, handle: unknown) => {
    if (what === 'datagrams')
      datagrams = handle as Datagrams; // sent as such by the helper
    else if (what === 'lookups' && handle instanceof Server) lookups = handle;
    else if (what === 'listener' && handle instanceof Server) listeners.push(handle);
    else reject(unavailable(`a network for a sandbox cannot be made: ${String(what)}`));
    if (datagrams === undefined || lookups === undefined || listeners.length < listenerCount) return;
    for (const socket of [datagrams, lookups, ...listeners]) socket.unref();
    resolve({ datagrams, lookups, listeners });
  });
  return promise;
}
