import type { Readable } from 'node:stream';
import { ExceededBudget, maxMessageBytes, messageTooLarge } from '../input/byte-budget.ts';
import type { WorkloadInput } from '../input/workload-input.ts';
import { readValue } from '../jsonrpc/message.ts';
import { EventParser } from './event-parser.ts';
import type { StreamEvent } from './event-parser.ts';

/**
 * Yields the events of a stream (HTML, section 9.2) when there is time to process them. Throws if an event is too large or
 * exceeds the budget.
 */
export async function* readEvents(body: Readable, input: WorkloadInput): AsyncGenerator<StreamEvent> {
  const events: StreamEvent[] = [];
  const hold = input.output.hold();
  let heldChars = 0;
  const parser = new EventParser((event) => {
    heldChars = 0;
    hold.release();
    events.push(event);
  });
  const decoder = new TextDecoder();
  const lines = new LineEnds();
  let bare: BareText | undefined;
  try {
    // The code below destroys the stream. The iterator would do so with an error, which is slow.
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      await input.turn();
      const text = lines.normal(decoder.decode(chunk as Buffer, { stream: true }));
      heldChars += text.length;
      if (!hold.grow(text.length)) throw new ExceededBudget();
      bare ??= new BareText(text);
      if (bare.isJson) bare.add(text);
      else parser.feed(text);
      if (heldChars > maxMessageBytes)
        throw new Error(`the server sends an event that is ${messageTooLarge}`);
      for (const event of events.splice(0)) {
        yield event;
        await input.turn();
      }
    }
    if (bare?.isJson !== true) {
      parser.feed('\n\n'); // some servers leave out the empty line behind the last event
      yield* events.filter(({ data }) => isJson(data));
      return;
    }
    input.tolerate('eventStream');
    yield { id: undefined, event: undefined, data: bare.text };
  } finally {
    hold.release();
    body.destroy();
  }
}

/** An event that was cut off is not one. */
function isJson(data: string): boolean {
  try {
    readValue(data);
    return true;
  } catch {
    return false;
  }
}

/**
 * Line feeds in the place of all line ends. A parser cannot end a line at a carriage return until the next character,
 * which may come late.
 */
class LineEnds {
  #endedWithReturn = false;

  normal(text: string): string {
    const rest = this.#endedWithReturn && text.startsWith('\n') ? text.slice(1) : text;
    if (text !== '') this.#endedWithReturn = text.endsWith('\r');
    return rest.includes('\r') ? rest.replace(/\r\n?/g, '\n') : rest;
  }
}

/** A body that is announced as an event stream, but is a JSON text. No line of a stream begins with a bracket. */
class BareText {
  readonly isJson: boolean;
  readonly #parts: string[] = [];

  constructor(start: string) {
    this.isJson = /^\s*[[{]/.test(start);
  }

  get text(): string {
    return this.#parts.join('');
  }

  add(part: string): void {
    this.#parts.push(part);
  }
}
