import { once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import type { Readable } from 'node:stream';
import { WebSocket } from 'ws';
import type { ClusterConfig } from './config.ts';
import type { ObjectName } from './client.ts';
import { ApiStatus, statusOf } from './status.ts';

/** The streams of a container or of a pod's port. */
export interface Channel extends AsyncDisposable {
  stdin: Writable;
  stdout: Readable;
  stderr: Readable;
  /**
   * Settles when the connection ends. Resolves with the status that the server reported, or undefined if the
   * connection broke without one. Never rejects.
   */
  ended: Promise<ApiStatus | undefined>;
}

/** The numbers of the channels in the first byte of each message. */
const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;
const ERROR = 3;
const CLOSE = 255;

const PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
const CONNECT_TIMEOUT_MS = 30_000;
/** A connection without an answer to a ping for this long is dead. */
const PING_INTERVAL_MS = 15_000;
/** More unsent bytes than these make a writer wait. */
const MAX_BUFFERED_BYTES = 1024 * 1024;
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

/** Attaches to standard input, output, and error of a running container. */
export async function attach(
  config: ClusterConfig,
  pod: ObjectName,
  options: { container: string; signal?: AbortSignal },
): Promise<Channel> {
  const query = new URLSearchParams({
    container: options.container,
    stdin: 'true',
    stdout: 'true',
    stderr: 'true',
    tty: 'false',
  });
  const socket = await open(
    config,
    `${podPath(config, pod)}/attach?${query.toString()}`,
    PROTOCOLS,
    options.signal,
  );
  return openChannel(socket, { in: STDIN, out: STDOUT, error: STDERR, status: ERROR });
}

/** Connects to a port of a pod. `stdin` and `stdout` carry the bytes of one connection, `stderr` is empty. */
export async function forwardPort(
  config: ClusterConfig,
  pod: ObjectName,
  options: { port: number; signal?: AbortSignal },
): Promise<Channel> {
  const query = new URLSearchParams({ ports: String(options.port) });
  // A port has two channels, data and errors, that both start with the port number in two bytes.
  const socket = await open(
    config,
    `${podPath(config, pod)}/portforward?${query.toString()}`,
    ['v4.channel.k8s.io'],
    options.signal,
  );
  return openChannel(socket, { in: 0, out: 0, text: 1, headBytes: 2 });
}

function podPath(config: ClusterConfig, { name, namespace }: ObjectName): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace ?? config.namespace)}/pods/${encodeURIComponent(name)}`;
}

async function open(
  config: ClusterConfig,
  path: string,
  protocols: readonly string[],
  signal?: AbortSignal,
): Promise<WebSocket> {
  const token = await config.token();
  const socket = new WebSocket(`${config.server.replace(/^http/, 'ws')}${path}`, [...protocols], {
    ...config.tls,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    handshakeTimeout: CONNECT_TIMEOUT_MS,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
  });
  const refused = Promise.withResolvers<never>();
  socket.on('unexpected-response', (_request, response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('end', () =>
      refused.reject(statusOf(Buffer.concat(chunks).toString('utf8'), response.statusCode)),
    );
    response.on('error', refused.reject);
  });
  socket.on('error', refused.reject); // stays, so that a later error is never without a listener
  refused.promise.catch(() => {}); // an error after the opening also closes the socket, which `ended` reports
  try {
    await Promise.race([once(socket, 'open', signal === undefined ? {} : { signal }), refused.promise]);
  } catch (error) {
    socket.terminate();
    throw error;
  }
  if (signal !== undefined) {
    const end = (): void => socket.terminate();
    signal.addEventListener('abort', end, { once: true });
    socket.once('close', () => signal.removeEventListener('abort', end));
  }
  return socket;
}

interface Layout {
  in: number;
  out: number;
  error?: number;
  /** The channel with a `Status` at the end. */
  status?: number;
  /** The channel with an error as plain text. */
  text?: number;
  /** How many bytes at the start of each incoming channel are not content. */
  headBytes?: number;
}

function openChannel(socket: WebSocket, layout: Layout): Channel {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const outputs = new Map<number, PassThrough>([[layout.out, stdout]]);
  if (layout.error !== undefined) outputs.set(layout.error, stderr);
  const heads = new Map<number, number>();
  let status: ApiStatus | undefined;
  socket.binaryType = 'nodebuffer';
  socket.on('message', (message: Buffer) => {
    const number = message[0] ?? 0;
    const skipped = Math.min(
      Math.max(0, (layout.headBytes ?? 0) - (heads.get(number) ?? 0)),
      message.length - 1,
    );
    heads.set(number, (heads.get(number) ?? 0) + skipped);
    const content = message.subarray(1 + skipped);
    if (number === CLOSE) outputs.get(content[0] ?? -1)?.end();
    else if (number === layout.status) status = statusOf(content.toString('utf8'));
    else if (number === layout.text && content.length > 0)
      status = new ApiStatus(500, '', content.toString('utf8'));
    else if (content.length > 0) pass(socket, outputs.get(number), content);
  });
  const ended = Promise.withResolvers<ApiStatus | undefined>();
  const stopPings = keepAlive(socket);
  socket.once('close', () => {
    stopPings();
    stdout.end();
    stderr.end();
    ended.resolve(status);
  });
  return {
    stdin: inputOf(socket, layout.in),
    stdout,
    stderr,
    ended: ended.promise,
    async [Symbol.asyncDispose]() {
      socket.terminate();
      await ended.promise;
    },
  };
}

/** Passes content on, and stops reading from the network while the reader is behind. */
function pass(socket: WebSocket, output: PassThrough | undefined, content: Buffer): void {
  if (output === undefined || output.writableEnded || output.write(content)) return;
  socket.pause();
  output.once('drain', () => socket.resume());
}

function inputOf(socket: WebSocket, number: number): Writable {
  const input = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (socket.readyState !== WebSocket.OPEN) return done(new Error('the connection to the pod is closed'));
      const isFull = socket.bufferedAmount > MAX_BUFFERED_BYTES;
      socket.send(Buffer.concat([Buffer.of(number), chunk]), isFull ? done : (error) => error && input.destroy(error)); // prettier-ignore
      if (!isFull) done();
    },
    final(done) {
      // Version 5 can close one channel. Earlier versions cannot, so that their input stays open.
      if (socket.protocol === PROTOCOLS[0] && socket.readyState === WebSocket.OPEN)
        socket.send(Buffer.of(CLOSE, number), done);
      else done();
    },
  });
  input.on('error', () => {}); // writers learn the end of the connection from `ended`
  return input;
}

function keepAlive(socket: WebSocket): () => void {
  let isAlive = true;
  socket.on('pong', () => (isAlive = true));
  socket.on('message', () => (isAlive = true));
  const timer = setInterval(() => {
    if (!isAlive && !socket.isPaused) return socket.terminate();
    isAlive = false;
    socket.ping();
  }, PING_INTERVAL_MS);
  return () => clearInterval(timer);
}
