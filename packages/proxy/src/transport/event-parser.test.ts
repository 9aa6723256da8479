import { expect, test } from 'vitest';
import { EventParser } from './event-parser.ts';
import type { StreamEvent } from './event-parser.ts';

function eventsOf(...texts: string[]): StreamEvent[] {
  const events: StreamEvent[] = [];
  const parser = new EventParser((event) => events.push(event));
  for (const text of texts) parser.feed(text);
  return events;
}

const message = { id: undefined, event: undefined };

test.each<[string, string, StreamEvent[]]>([
  ['an event', 'id: 7\nevent: message\ndata: {}\n\n', [{ id: '7', event: 'message', data: '{}' }]],
  ['several lines', 'data: a\ndata:b\ndata\n\n', [{ ...message, data: 'a\nb\n' }]],
  ['only the first space', 'data:  a: b\n\n', [{ ...message, data: ' a: b' }]],
  ['other lines', ': comment\nretry: 1\nDATA: x\ndatas: x\nx\ndata: a\n\n', [{ ...message, data: 'a' }]],
  ['an event without data', 'id: 1\nevent: a\n\ndata: b\n\n', [{ ...message, data: 'b' }]],
  ['empty values', 'event:\nid:\ndata:\n\n', [{ id: '', event: undefined, data: '' }]],
  ['an ID with a zero', 'id: a\0\ndata: a\n\n', [{ ...message, data: 'a' }]],
  ['an event that was cut off', 'data: a\n', []],
])('reads %s', (_what, text, events) => {
  expect(eventsOf(text)).toEqual(events);
  expect(eventsOf(...text.split(''))).toEqual(events); // in pieces of one character
});

test('lines without meaning take time in proportion to their number', () => {
  // A body of the allowed size, for which the parser of a library takes minutes.
  expect(eventsOf('a\n'.repeat(8_000_000), 'data: b\n\n')).toEqual([{ ...message, data: 'b' }]);
});
