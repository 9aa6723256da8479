import type { AnswerHeaders } from './answer.ts';

/** The media type of a response in lower case, without its parameters. Empty if the response has none. */
export function mediaTypeOf(headers: AnswerHeaders): string {
  const type = headers['content-type'];
  if (type === undefined) return '';
  const [bare = ''] = String(type).split(';', 1);
  return bare.trim().toLowerCase();
}

export const eventStreamType = 'text/event-stream';
