import type { Readable } from 'node:stream';
import { createParser } from 'eventsource-parser';
import type { EventSourceMessage } from 'eventsource-parser';
import { ExceededBudget, maxMessageBytes } from '../input/byte-budget.ts';
import type { WorkloadInput } from '../input/workload-input.ts';

/**
 * The events of a stream (HTML, Server-Sent Events), as they come and as there is time to process them. Throws when
 * one never ends.
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
    // Whoever stops reading ends the stream below: the iterator would make an error of it, which takes its time.
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
