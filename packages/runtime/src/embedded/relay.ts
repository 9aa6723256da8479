// Runs in the container whose network a server joins: listens on every address, and passes connections and name lookups
// to the daemon over its standard input and output.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type Server, type Socket, connect, createServer } from 'node:net';
import { type Channel, createMux, joinChannel } from '../egress/mux.ts';

const [, ports = '', resolver = ''] = process.argv;
const longestQuery = 4096;
const mostQueries = 512;
const queries = new Map<number, { port: number; address: string }>();
let lastQuery = 0;

const mux = createMux({
  input: process.stdin,
  output: process.stdout,
  side: 1,
  onOpen(channel, purpose) {
    channel.on('error', () => {});
    const { port } = purpose as { port: number }; // from `relayed-sockets.ts`
    dial(channel, port, ['127.0.0.1', '::1']);
  },
  onMessage(number, message) {
    const query = queries.get(number);
    queries.delete(number);
    if (query !== undefined) datagrams.send(message, query.port, query.address, () => {});
  },
});

function dial(channel: Channel, port: number, [host, ...others]: readonly string[]): void {
  const socket = connect({ ...(host !== undefined && { host }), port, allowHalfOpen: true });
  const fail = (): void => {
    if (others.length > 0) dial(channel, port, others);
    else channel.destroy();
  };
  socket.once('error', fail).once('connect', () => {
    socket.off('error', fail);
    join(socket, channel);
  });
}

function join(socket: Socket, channel: Channel): void {
  joinChannel(socket, channel, () => socket.resetAndDestroy());
}

function take(socket: Socket): void {
  const { localAddress: address, localPort: port } = socket;
  join(socket, mux.open({ address, port }));
}

const listen = (port: number, host: string): Server =>
  createServer({ allowHalfOpen: true, pauseOnConnect: true }, take).listen({ port, host });

const datagrams = createSocket('udp4').bind(53, resolver);
datagrams.on('message', (packet, from) => {
  if (packet.length > longestQuery) return;
  lastQuery = (lastQuery + 1) % 2 ** 32;
  queries.set(lastQuery, from);
  const [oldest] = queries.keys();
  if (queries.size > mostQueries && oldest !== undefined) queries.delete(oldest);
  mux.send(lastQuery, packet);
});
process.stdin.on('end', () => process.exit());

const listeners = [listen(53, resolver), ...ports.split(',').map((port) => listen(Number(port), '0.0.0.0'))];

async function listening(): Promise<string> {
  try {
    await Promise.all([datagrams, ...listeners].map((socket) => once(socket, 'listening')));
    for (const listener of listeners) listener.on('error', () => {}); // one connection could not be accepted
    return 'ready';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

listening().then(
  (outcome) => mux.send(0, Buffer.from(outcome)),
  () => {},
);
