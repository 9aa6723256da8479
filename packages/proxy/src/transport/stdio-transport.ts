import type { Readable, Writable } from 'node:stream';
import { raiseFault } from '@toolhive/contract/fault';
import type { WorkloadInput } from '../input/workload-input.ts';
import { maxMessageBytes, messageTooLarge } from '../input/byte-budget.ts';
import { onOneLine } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { readLines } from './lines.ts';
import { ServerInput } from './server-input.ts';
import { SplitMessages } from './split-messages.ts';
import type { TransportListener, Transport } from './transport.ts';

interface StdioTransportOptions {
  input: Writable;
  /** The limits on server output. */
  limits: WorkloadInput;
  /** One message per line. In object mode, each object is a message or its text. */
  output: Readable;
  /** Ends the process. */
  end?: () => Promise<void>;
}

/** Reaches a server over stdio, one message per line (MCP, Transports, stdio). */
export class StdioTransport implements Transport {
  readonly #options: StdioTransportOptions;
  readonly #input: ServerInput;
  #listener: TransportListener | undefined;
  #ended: string | undefined;

  constructor(options: StdioTransportOptions) {
    this.#options = options;
    this.#input = new ServerInput(options.input);
  }

  get unreadBytes(): number {
    return this.#input.unreadBytes;
  }

  send({ text }: Message): void {
    this.#input.writeLine(onOneLine(text));
  }

  open(listener: TransportListener): void {
    this.#listener = listener;
    if (this.#options.output.readableObjectMode) this.#readObjects();
    else this.#readLines();
    const ended = this.#ended;
    if (ended !== undefined) queueMicrotask(() => this.#listener?.closed(ended));
  }

  #readLines(): void {
    const { limits, output } = this.#options;
    const messages = new SplitMessages({ onText: (text) => this.#listener?.message(text), input: limits });
    readLines(output, {
      input: limits,
      onLine: (line) => messages.line(line),
      onTooLong: (start) => this.#listener?.unreadable(start, `the line is ${messageTooLarge}`),
      onExceeded: (reason) => this.#listener?.exceeded(reason),
    }).catch(raiseFault);
  }

  /** A server in this process sends no bytes: a long list would be encoded and decoded for nothing. */
  #readObjects(): void {
    this.#options.output.on('data', (received: Message | string) => {
      this.#options.limits.process(() => {
        const text = typeof received === 'string' ? received : received.text;
        if (text.length > maxMessageBytes)
          this.#listener?.unreadable(text.slice(0, 200), `the message is ${messageTooLarge}`);
        else this.#listener?.message(received);
        return false;
      });
    });
  }

  agree(): void {}

  /** The process has ended, perhaps before the transport was opened. Its output may still be readable. */
  ended(reason: string): void {
    this.#ended = reason;
    this.#listener?.closed(reason);
  }

  async close(): Promise<void> {
    this.#listener = undefined;
    this.#input.flush();
    this.#options.output.destroy(); // nothing more is read
    await this.#options.end?.();
  }
}
