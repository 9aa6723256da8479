import type { Readable } from 'node:stream';
import { createParser } from 'eventsource-parser';
import type { EventSourceMessage } from 'eventsource-parser';
import { maxMessageBytes } from './answer.ts';

/** The events of a stream (HTML, Server-Sent Events), as they come. Throws when one never ends. */
export async function* readEvents(body: Readable): AsyncGenerator<EventSourceMessage> {
  const events: EventSourceMessage[] = [];
  let heldChars = 0;
  const parser = createParser({
    onEvent(event) {
      heldChars = 0;
      events.push(event);
    },
  });
  const decoder = new TextDecoder();
  try {
    // Whoever stops reading ends the stream below: the iterator would make an error of it, which takes its time.
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      const text = decoder.decode(chunk as Buffer, { stream: true });
      heldChars += text.length;
      parser.feed(text);
      if (heldChars > maxMessageBytes) throw new Error('the server sends an event that is too large');
      yield* events.splice(0);
    }
  } finally {
    body.destroy();
  }
}
