import type { Socket } from 'node:net';
import { Duplex, type Readable, type Writable } from 'node:stream';

/** One of many streams in a connection. Breaking it off is something else than ending it. */
export interface Channel extends Duplex {
  readonly bytesRead: number;
  readonly bytesWritten: number;
  /** Whether both sides have ended it. */
  readonly hasEnded: boolean;
  /** Breaks the stream off on both sides. */
  resetAndDestroy(): this;
  /** Closes it after everything was written. */
  destroySoon(): void;
}

export interface Mux {
  /** Opens a stream, and tells the other side what for. */
  open(purpose: object): Channel;
  /** Sends a message with a number. */
  send(number: number, message: Buffer): void;
}

export interface MuxOptions {
  input: Readable;
  output: Writable;
  /** 1 on one side, and 2 on the other one. */
  side: 1 | 2;
  onOpen: (channel: Channel, purpose: unknown) => void;
  onMessage: (number: number, message: Buffer) => void;
}

const types = { open: 0, data: 1, end: 2, reset: 3, read: 4, message: 5 };
const windowBytes = 64 * 1024;
const headerBytes = 9;
const longestContent = 1024 * 1024;
const nothing = Buffer.alloc(0);

/**
 * Carries many streams and messages over one connection. Each frame is a number and a length of 4 bytes each, a type,
 * and the content. A side sends at most a window's bytes of a stream before the other side has read them.
 */
export function createMux({ input, output, side, onOpen, onMessage }: MuxOptions): Mux {
  const channels = new Map<number, MuxChannel>();
  let last = side - 2;

  function write(number: number, type: number, content: Buffer): void {
    if (output.destroyed) return;
    const header = Buffer.allocUnsafe(headerBytes);
    header.writeUInt32BE(number, 0);
    header.writeUInt8(type, 4);
    header.writeUInt32BE(content.length, 5);
    output.write(Buffer.concat([header, content]));
  }

  function openChannel(number: number): MuxChannel {
    const channel = new MuxChannel(
      (type, content) => write(number, type, content),
      () => channels.delete(number),
    );
    channels.set(number, channel);
    return channel;
  }

  const reader = new FrameReader(({ number, type, content }) => {
    if (type === types.message) onMessage(number, content);
    else if (type === types.open) {
      const purpose: unknown = JSON.parse(content.toString());
      onOpen(openChannel(number), purpose);
    } else channels.get(number)?.receive(type, content);
  });
  input.on('data', (chunk: Buffer) => {
    try {
      reader.read(chunk);
    } catch {
      input.destroy(); // behind a frame that makes no sense, no other one can be found
    }
  });
  input.on('close', () => {
    for (const channel of channels.values()) channel.lose();
  });

  return {
    open(purpose) {
      last += 2;
      write(last, types.open, Buffer.from(JSON.stringify(purpose)));
      return openChannel(last);
    },
    send: (number, message) => write(number, types.message, message),
  };
}

interface Frame {
  number: number;
  type: number;
  content: Buffer;
}

/** Divides a stream of bytes into frames. */
class FrameReader {
  readonly #receive: (frame: Frame) => void;
  #pieces: Buffer[] = [];
  #length = 0;
  /** How many bytes the next step needs. Pieces are joined only for a step, so that every byte is copied once. */
  #wanted = headerBytes;

  constructor(receive: (frame: Frame) => void) {
    this.#receive = receive;
  }

  /** Throws for a frame that makes no sense. */
  read(chunk: Buffer): void {
    this.#pieces.push(chunk);
    this.#length += chunk.length;
    if (this.#length < this.#wanted) return;
    let rest = this.#pieces.length === 1 ? chunk : Buffer.concat(this.#pieces);
    for (this.#wanted = headerBytes; rest.length >= this.#wanted; this.#wanted = headerBytes) {
      const contentLength = rest.readUInt32BE(5);
      if (contentLength > longestContent) throw new Error('a frame is too long');
      this.#wanted = headerBytes + contentLength;
      if (rest.length < this.#wanted) break;
      const content = rest.subarray(headerBytes, this.#wanted);
      const frame = { number: rest.readUInt32BE(0), type: rest.readUInt8(4), content };
      rest = rest.subarray(this.#wanted);
      this.#receive(frame);
    }
    this.#pieces = rest.length === 0 ? [] : [rest];
    this.#length = rest.length;
  }
}

/** One stream of a mux. */
class MuxChannel extends Duplex implements Channel {
  bytesRead = 0;
  bytesWritten = 0;
  readonly #send: (type: number, content: Buffer) => void;
  readonly #forget: () => void;
  #credit = windowBytes;
  #unread = 0;
  #hasSentEnd = false;
  #hasReceivedEnd = false;
  #isBroken = false;
  #goOn: (() => void) | undefined;

  constructor(send: (type: number, content: Buffer) => void, forget: () => void) {
    super({ allowHalfOpen: true });
    this.#send = send;
    this.#forget = forget;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    this.bytesWritten += chunk.length;
    this.#credit -= chunk.length;
    this.#send(types.data, chunk);
    if (this.#credit > 0) done();
    else this.#goOn = done;
  }

  override _final(done: (error?: Error) => void): void {
    this.#hasSentEnd = true;
    this.#send(types.end, nothing);
    done();
  }

  override _read(): void {
    if (this.#unread === 0) return;
    const count = Buffer.allocUnsafe(4);
    count.writeUInt32BE(this.#unread);
    this.#unread = 0;
    this.#send(types.read, count);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#forget();
    if (!this.hasEnded && !this.#isBroken) this.#send(types.reset, nothing);
    done(error);
  }

  get hasEnded(): boolean {
    return this.#hasSentEnd && this.#hasReceivedEnd;
  }

  resetAndDestroy(): this {
    return this.destroy();
  }

  destroySoon(): void {
    if (this.writableFinished) this.destroy();
    else this.end().once('finish', () => this.destroy());
  }

  /** Ends the stream because the connection has ended. */
  lose(): void {
    this.#isBroken = true;
    this.destroy();
  }

  receive(type: number, content: Buffer): void {
    if (type === types.data) {
      this.bytesRead += content.length;
      this.#unread += content.length;
      this.push(content);
    } else if (type === types.end) {
      this.#hasReceivedEnd = true;
      this.push(null);
    } else if (type === types.read && content.length === 4) {
      this.#credit += content.readUInt32BE();
      if (this.#credit <= 0) return;
      const goOn = this.#goOn;
      this.#goOn = undefined;
      goOn?.();
    } else if (type === types.reset) {
      this.#isBroken = true;
      this.destroy(new Error('the other side broke the connection off'));
    }
  }
}

/**
 * Passes everything between a socket and a channel. `breakOff` breaks the socket off when the channel breaks.
 */
export function joinChannel(socket: Socket, channel: Channel, breakOff: () => void): void {
  socket
    .on('error', () => {})
    .on('close', (hasFailed) => {
      if (hasFailed) channel.destroy();
    });
  channel
    .on('error', () => {})
    .on('close', () => {
      if (!channel.hasEnded) breakOff();
    });
  socket.pipe(channel).pipe(socket);
}
