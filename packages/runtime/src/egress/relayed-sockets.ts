import type { Socket as Datagrams } from 'node:dgram';
import { EventEmitter, once } from 'node:events';
import { type Server, type Socket, createServer } from 'node:net';
import { Readable, Writable } from 'node:stream';
import type { GatewaySockets } from './gateway.ts';
import { RESOLVER_ADDRESS } from './link-addresses.ts';
import { type Channel, type Mux, createMux, joinChannel } from './mux.ts';

interface RelayOptions {
  /** Sends bytes to the relay. */
  write: (bytes: Buffer) => void;
  /** Receives what the relay says about itself. */
  onSaid: (text: string) => void;
}

/**
 * What arrives from a relay, in the form of the sockets that a gateway takes it from. A relay is a container whose network a
 * server joins, on a machine that the daemon cannot enter.
 */
export class RelayedSockets implements Disposable {
  readonly sockets: GatewaySockets;
  readonly #input = new Readable({ read() {} });
  readonly #mux: Mux;
  readonly #published = new Map<string, Server>();

  constructor({ write, onSaid }: RelayOptions) {
    const incoming = new Incoming();
    this.sockets = incoming.sockets;
    const output = new Writable({
      write(chunk: Buffer, _encoding, done) {
        write(chunk);
        done();
      },
    });
    this.#mux = createMux({
      input: this.#input,
      output,
      side: 2,
      onOpen: (channel, purpose) => incoming.take(channel, purpose),
      onMessage: (number, message) =>
        number === 0 ? onSaid(message.toString()) : incoming.look(number, message),
    });
    incoming.datagrams.answer = (number, message) => this.#mux.send(number, message);
  }

  /** Takes bytes that the relay sent. */
  receive(bytes: Buffer): void {
    if (!this.#input.destroyed) this.#input.push(bytes);
  }

  /** Passes connections to a Unix socket or a named pipe to a port of the server. */
  async publishPort(path: string, port: number): Promise<void> {
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
      joinChannel(socket, this.#mux.open({ port }), () => socket.destroySoon());
    });
    await once(server.listen(path), 'listening');
    server.on('error', () => {}); // one connection could not be accepted
    this.#published.set(path, server);
  }

  unpublishPort(path: string): void {
    this.#published.get(path)?.close();
    this.#published.delete(path);
  }

  [Symbol.dispose](): void {
    for (const path of this.#published.keys()) this.unpublishPort(path);
    this.#input.destroy();
  }
}

class Incoming {
  readonly datagrams = new RelayedDatagrams();
  readonly #lookups = new RelayedListener();
  readonly #connections = new RelayedListener();

  get sockets(): GatewaySockets {
    return {
      datagrams: this.datagrams as unknown as Datagrams, // has all that a gateway uses
      lookups: this.#lookups as unknown as Server,
      listeners: [this.#connections as unknown as Server],
    };
  }

  take(channel: Channel, purpose: unknown): void {
    const { address, port } = purpose as { address: string; port: number }; // from `relay.ts`
    const isLookup = address === RESOLVER_ADDRESS && port === 53;
    const socket = Object.assign(channel, { localAddress: address, localPort: port });
    (isLookup ? this.#lookups : this.#connections).offer(socket as unknown as Socket);
  }

  look(number: number, packet: Buffer): void {
    this.datagrams.emit('message', packet, { port: number, address: '' });
  }
}

/** Stands for a listening socket in the container. */
class RelayedListener extends EventEmitter {
  maxConnections = Number.POSITIVE_INFINITY;
  #open = 0;

  offer(socket: Socket): void {
    if (this.#open >= this.maxConnections) {
      socket.on('error', () => {}).resetAndDestroy();
      return;
    }
    this.#open += 1;
    socket.on('close', () => (this.#open -= 1));
    this.emit('connection', socket);
  }

  close(): void {
    this.removeAllListeners();
  }
}

/** Stands for a UDP socket in the container. The port is the number of a query. */
class RelayedDatagrams extends EventEmitter {
  answer: (number: number, message: Buffer) => void = () => {};

  send(message: Buffer, port: number): void {
    this.answer(port, message);
  }

  close(): void {
    this.removeAllListeners();
  }
}
