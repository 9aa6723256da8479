import { Readable, type Writable } from 'node:stream';
import { hijack, type Engine } from './engine.ts';
import { createDemultiplexer } from './frames.ts';
import { withRetries } from './retry.ts';

/** A connection to a container's streams. */
export interface Attachment {
  /** The container's standard input and output, if attached for stdio. */
  stdio?: { input: Writable; output: Readable };
  /** Settles when the container's output or the connection ends. Never rejects. */
  closed: Promise<void>;
  /** Writes to the container's standard input before its server does anything. */
  writeFirst: (input: Buffer) => void;
  close: () => void;
  /** Lets this process end while the connection is open. */
  unref: () => void;
}

export interface AttachOptions {
  /** Its standard input and output are the server's protocol. */
  speaksStdio: boolean;
  /** Whether the container reads its standard input, for its protocol or before it. */
  listens: boolean;
  log: (chunk: Buffer) => void;
  signal: AbortSignal;
}

/**
 * Attaches to a container before its start, so that no output is lost. Output that is not protocol goes to `log`.
 * While the consumer of the output pauses, reading stops and the server blocks, so no data accumulates.
 */
export async function attach(
  engine: Engine,
  containerId: string,
  { speaksStdio, listens, log, signal }: AttachOptions,
): Promise<Attachment> {
  const query = { stream: '1', stdout: '1', stderr: '1', stdin: listens ? '1' : '0' };
  const path = `/containers/${containerId}/attach`;
  // Podman says that the container can be attached to before its monitor listens.
  const { socket, head } = await withRetries(/attach socket|can only attach/, () =>
    hijack(engine, { method: 'POST', path, query, signal }),
  );

  const output = new Readable({
    read: () => {
      socket.resume();
    },
  });
  const demultiplex = createDemultiplexer((stream, piece) => {
    if (stream === 'stderr' || !speaksStdio) log(piece);
    else if (!output.push(piece)) socket.pause();
  });
  const receive = (chunk: Buffer) => {
    try {
      demultiplex(chunk);
    } catch {
      // After a corrupt header, frames cannot be told apart. The connection is useless, so the container stops.
      socket.destroy();
    }
  };
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => {
      output.push(null);
      resolve();
    });
  });
  // A broken connection also closes, and the error adds no information.
  socket.on('error', () => {});
  if (head.length > 0) receive(head);
  socket.on('data', receive);

  return {
    ...(speaksStdio && { stdio: { input: socket, output } }),
    closed,
    writeFirst: (input) => {
      socket.write(input);
    },
    close: () => socket.destroy(),
    unref: () => {
      socket.unref();
    },
  };
}
