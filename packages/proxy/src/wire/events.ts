import type { Readable } from 'node:stream';
import { createParser } from 'eventsource-parser';
import type { EventSourceMessage } from 'eventsource-parser';

/** The largest message that is taken from a server; also what the parser may hold of one that is not whole. */
const maxMessageChars = 64 * 1024 * 1024;

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
  for await (const chunk of body) {
    const text = decoder.decode(chunk as Buffer, { stream: true });
    heldChars += text.length;
    parser.feed(text);
    if (heldChars > maxMessageChars) throw new Error('the server sends an event that is too large');
    yield* events.splice(0);
  }
}

/** A body as text; throws when it is larger than a message may be. */
export async function readText(body: Readable): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) {
    text += decoder.decode(chunk as Buffer, { stream: true });
    if (text.length > maxMessageChars) throw new Error('the server sends a message that is too large');
  }
  return text + decoder.decode();
}
