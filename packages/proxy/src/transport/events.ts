import type { Readable } from 'node:stream';
import { createParser } from 'eventsource-parser';
import type { EventSourceMessage } from 'eventsource-parser';
import { ExceededBudget, maxMessageBytes } from '../input/byte-budget.ts';
import type { WorkloadInput } from '../input/workload-input.ts';

/**
 * Yields the events of a stream (HTML, section 9.2) when there is time to process them. Throws if an event is too large or
 * exceeds the budget.
 */
export async function* readEvents(body: Readable, input: WorkloadInput): AsyncGenerator<EventSourceMessage> {
  const events: EventSourceMessage[] = [];
  const hold = input.output.hold();
  let heldChars = 0;
  const parser = createParser({
    onEvent(event) {
      heldChars = 0;
      hold.release();
      events.push(event);
    },
  });
  const decoder = new TextDecoder();
  try {
    // The code below destroys the stream. The iterator would do so with an error, which is slow.
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      await input.turn();
      const text = decoder.decode(chunk as Buffer, { stream: true });
      heldChars += text.length;
      if (!hold.grow(text.length)) throw new ExceededBudget();
      parser.feed(text);
      if (heldChars > maxMessageBytes) throw new Error('the server sends an event that is too large');
      for (const event of events.splice(0)) {
        yield event;
        await input.turn();
      }
    }
  } finally {
    hold.release();
    body.destroy();
  }
}
