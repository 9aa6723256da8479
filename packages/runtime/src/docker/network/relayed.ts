import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { unavailable } from '@toolhive/contract/failure';
import * as z from 'zod';
import { type SocketPlace, socketFolder } from '../../published-socket.ts';
import { type Egress, alwaysListening } from '../../egress.ts';
import type { GatewayProcess, OpenGateway, OpenRelay } from '../../egress/gateway-process.ts';
import { RESOLVER_ADDRESS } from '../../egress/link-addresses.ts';
import { embeddedProgram } from '../../embedded-program.ts';
import { frugalNode } from '../../frugal-node.ts';
import { attach } from '../attach.ts';
import { removeContainer } from '../container.ts';
import { type Engine, callEngine } from '../engine.ts';
import type { IsolatedNetwork, ServerSocket } from './container-network.ts';
import { gatewayResolver, networkName, withoutNetwork } from './network-container.ts';

/**
 * The network of a container whose connections and lookups arrive at the gateway through the engine. It needs nothing of
 * the machine that the containers run on, so it also works if that is a virtual machine. The price is a small Node.js
 * for each server, and that the server cannot listen on the ports of the gateway.
 */
export class RelayedNetwork implements IsolatedNetwork {
  readonly containerId: string;
  readonly hasResolver: boolean;
  /** Settles when the server in it cannot reach anything any more. Never rejects. */
  readonly ended: Promise<unknown>;
  readonly #relay: OpenRelay;
  readonly #resources: AsyncDisposableStack;

  private constructor(
    { containerId, hasResolver, ended }: Pick<RelayedNetwork, 'containerId' | 'hasResolver' | 'ended'>,
    relay: OpenRelay,
    resources: AsyncDisposableStack,
  ) {
    this.containerId = containerId;
    this.hasResolver = hasResolver;
    this.ended = ended;
    this.#relay = relay;
    this.#resources = resources;
  }

  /** The image contains Node.js, a shell, and `ip`. `ownPorts` are the ports on which the server itself listens. */
  static async open(
    engine: Engine,
    { gateways, image, daemonId, ports, ownPorts, signal: given }: RelayOptions,
  ): Promise<RelayedNetwork> {
    const signal = AbortSignal.any([given, AbortSignal.timeout(START_TIMEOUT_MS)]);
    await using undo = new AsyncDisposableStack();
    const listening = new Set([...alwaysListening, ...ports]);
    for (const port of ownPorts) listening.delete(port);
    const { Id: containerId } = await callEngine(engine, z.object({ Id: z.string() }), {
      method: 'POST',
      path: '/containers/create',
      query: { name: networkName() },
      body: { json: relaySpec(image, daemonId, [...listening]) },
      signal,
    });
    undo.defer(() => removeContainer(engine, containerId));
    let said = '';
    const log = (piece: Buffer): void => {
      said = `${said}${piece.toString()}`.slice(-2000);
    };
    const attachment = await attach(engine, containerId, { speaksStdio: true, listens: true, log, signal });
    undo.defer(() => attachment.close());
    const { stdio, closed } = attachment;
    if (stdio === undefined) throw unavailable('the container engine attached no streams');
    const { input, output } = stdio;
    const { promise: ready, resolve: onSaid } = Promise.withResolvers<string>();
    const relay = undo.use(
      await gateways.openRelay({
        write: (bytes) => {
          if (input.writable) input.write(bytes);
        },
        onSaid,
        onLost: () => attachment.close(),
      }),
    );
    output.on('data', (bytes: Buffer) => {
      if (!relay.receive(bytes, () => output.resume())) output.pause();
    });
    await callEngine(engine, z.unknown(), {
      method: 'POST',
      path: `/containers/${containerId}/start`,
      signal,
    });
    const giveUp = (): void => attachment.close();
    signal.addEventListener('abort', giveUp);
    const outcome = await Promise.race([ready, closed.then(() => said.trim() || 'it ended')]);
    signal.removeEventListener('abort', giveUp);
    if (outcome !== 'ready') throw unavailable(`the container for network rules did not start: ${outcome}`);
    attachment.unref();
    const network = { containerId, hasResolver: engine.kind === 'docker', ended: closed };
    return new RelayedNetwork(network, relay, undo.move());
  }

  openGateway(gateways: GatewayProcess, egress: Egress): Promise<OpenGateway> {
    return gateways.open(egress, { kind: 'relay', relay: this.#relay });
  }

  /** A Unix socket that leads to a port of the server. */
  async publishPort(place: SocketPlace, port: number): Promise<ServerSocket> {
    const path = await socketPath(place);
    const published = await this.#relay.publishPort(path, port);
    return {
      path,
      ended: this.ended,
      async [Symbol.asyncDispose]() {
        published[Symbol.dispose]();
        if (!isWindows) await rm(dirname(path), { recursive: true, force: true });
      },
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#resources.disposeAsync();
  }
}

const isWindows = process.platform === 'win32';

/** Node.js has named pipes in place of Unix sockets on Windows. */
async function socketPath(place: SocketPlace): Promise<string> {
  return isWindows ? `\\\\.\\pipe\\toolhive-${randomUUID()}` : join(await socketFolder(place), 's');
}

interface RelayOptions {
  gateways: GatewayProcess;
  image: string;
  daemonId: string;
  ports: readonly number[];
  ownPorts: readonly number[];
  signal: AbortSignal;
}

const START_TIMEOUT_MS = 60_000;
const MEBIBYTE = 1024 ** 2;

function relaySpec(image: string, daemonId: string, ports: readonly number[]): object {
  const waiting = withoutNetwork(daemonId, gatewayResolver);
  const node = ['node', ...frugalNode, '-e', embeddedProgram('relay.ts')];
  return {
    Image: image,
    Entrypoint: ['sh'],
    Cmd: ['-c', embeddedProgram('relay.sh'), 'sh', ...node, ports.join(), RESOLVER_ADDRESS],
    User: '0:0',
    ...waiting,
    HostConfig: {
      ...waiting.HostConfig,
      Memory: 128 * MEBIBYTE,
      PidsLimit: 32,
      CapAdd: ['NET_ADMIN', 'NET_BIND_SERVICE'],
    },
  };
}
