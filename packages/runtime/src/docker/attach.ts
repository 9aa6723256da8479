import { Readable, type Writable } from 'node:stream';
import { hijack, type Engine } from './engine.ts';
import { createDemultiplexer } from './frames.ts';
import { withRetries } from './retry.ts';

/** A connection to a container's streams. */
export interface Attachment {
  /** The container's standard input and output, when it was attached for stdio. */
  stdio?: { input: Writable; output: Readable };
  /** Settles when the container has no more to say or the connection is gone; never rejects. */
  closed: Promise<void>;
  /** Writes to the container's standard input before its server does anything. */
  handOver: (input: Buffer) => void;
  close: () => void;
  /** Lets this process end while the connection is open. */
  unref: () => void;
}

export interface AttachOptions {
  /** Its standard input and output are the server's protocol. */
  speaksStdio: boolean;
  /** It reads its standard input, for its protocol or for something else first. */
  listens: boolean;
  log: (chunk: Buffer) => void;
  signal: AbortSignal;
}

/**
 * Attaches to a container that has not started yet, so that nothing it says is lost. What is not protocol goes
 * to `log`. Reading stops while nobody takes the output, and so does the server: nothing piles up here.
 */
export async function attach(
  engine: Engine,
  containerId: string,
  { speaksStdio, listens, log, signal }: AttachOptions,
): Promise<Attachment> {
  const query = { stream: '1', stdout: '1', stderr: '1', stdin: listens ? '1' : '0' };
  const path = `/containers/${containerId}/attach`;
  // Podman says that the container can be attached to before its monitor listens.
  const { socket, head } = await withRetries(/attach socket/, () =>
    hijack(engine, { method: 'POST', path, query, signal }),
  );

  const output = new Readable({ read: () => void socket.resume() });
  const demultiplex = createDemultiplexer((stream, piece) => {
    if (stream === 'stderr' || !speaksStdio) log(piece);
    else if (!output.push(piece)) socket.pause();
  });
  const receive = (chunk: Buffer) => {
    try {
      demultiplex(chunk);
    } catch {
      // Past a garbled header nothing can be told apart: the connection is worthless, the container follows it.
      socket.destroy();
    }
  };
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => {
      output.push(null);
      resolve();
    });
  });
  // A broken connection also closes; there is nothing more to learn from the error.
  socket.on('error', () => {});
  if (head.length > 0) receive(head);
  socket.on('data', receive);

  return {
    ...(speaksStdio && { stdio: { input: socket, output } }),
    closed,
    handOver: (input) => void socket.write(input),
    close: () => socket.destroy(),
    unref: () => void socket.unref(),
  };
}
