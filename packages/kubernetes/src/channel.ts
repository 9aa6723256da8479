import { once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import type { Readable } from 'node:stream';
import { WebSocket } from 'ws';
import type { ClusterConfig } from './config.ts';
import type { ObjectName } from './client.ts';
import { statusOf } from './status.ts';
import type { ApiStatus } from './status.ts';

/** The streams of a container. */
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
  return openChannel(
    await open(config, `${podPath(config, pod)}/attach?${query.toString()}`, options.signal),
  );
}

function podPath(config: ClusterConfig, { name, namespace }: ObjectName): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace ?? config.namespace)}/pods/${encodeURIComponent(name)}`;
}

async function open(config: ClusterConfig, path: string, signal?: AbortSignal): Promise<WebSocket> {
  const token = await config.token();
  const socket = new WebSocket(`${config.server.replace(/^http/, 'ws')}${path}`, PROTOCOLS, {
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

function openChannel(socket: WebSocket): Channel {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const outputs = new Map([
    [STDOUT, stdout],
    [STDERR, stderr],
  ]);
  let status: ApiStatus | undefined;
  socket.binaryType = 'nodebuffer';
  socket.on('message', (message: Buffer) => {
    const number = message[0] ?? 0;
    const content = message.subarray(1);
    if (number === CLOSE) outputs.get(content[0] ?? -1)?.end();
    else if (number === ERROR) status = statusOf(content.toString('utf8'));
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
    stdin: inputOf(socket),
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

function inputOf(socket: WebSocket): Writable {
  const input = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (socket.readyState !== WebSocket.OPEN) return done(new Error('the connection to the pod is closed'));
      const isFull = socket.bufferedAmount > MAX_BUFFERED_BYTES;
      socket.send(
        Buffer.concat([Buffer.of(STDIN), chunk]),
        isFull ? done : (error) => error && input.destroy(error),
      );
      if (!isFull) done();
    },
    final(done) {
      // Version 5 can close one channel. Earlier versions cannot, so that their input stays open.
      if (socket.protocol === PROTOCOLS[0] && socket.readyState === WebSocket.OPEN)
        socket.send(Buffer.of(CLOSE, STDIN), done);
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
