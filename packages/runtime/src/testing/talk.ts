import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/** What a test server answers to a tool call. */
export interface ToolAnswer {
  text: string;
  failed: boolean;
}

/** Speaks JSON-RPC with a server over its standard input and output, without any proxy in between. */
export class Conversation {
  readonly #input: Writable;
  readonly #waiting = new Map<number, (message: Reply) => void>();
  #lastId = 0;

  constructor({ input, output }: { input: Writable; output: Readable }) {
    this.#input = input;
    input.on('error', () => {}); // a server that is gone is noticed by the answer that does not come
    const lines = createInterface({ input: output }).on('error', () => {}); // the same goes for its output
    lines.on('line', (line) => {
      const message = JSON.parse(line) as Reply; // a test server writes nothing else
      if (message.id !== undefined) this.#waiting.get(message.id)?.(message);
    });
  }

  async request(method: string, params: object = {}): Promise<Reply> {
    const id = ++this.#lastId;
    const { promise, resolve } = Promise.withResolvers<Reply>();
    this.#waiting.set(id, resolve);
    if (!this.#input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`))
      await once(this.#input, 'drain');
    return promise;
  }

  /** Calls a tool of a test server. */
  async call(name: string, given: object = {}): Promise<ToolAnswer> {
    const { result, error } = await this.request('tools/call', { name, arguments: given });
    if (error !== undefined) throw new Error(error.message);
    return { text: result?.content?.[0]?.text ?? '', failed: result?.isError === true };
  }

  /** Calls a tool and waits for no answer, because it ends the server. */
  send(name: string, given: object = {}): void {
    void this.call(name, given);
  }
}

interface Reply {
  id?: number;
  result?: { content?: { text?: string }[]; isError?: boolean; protocolVersion?: string };
  error?: { message: string };
}
