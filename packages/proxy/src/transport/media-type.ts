import type { AnswerHeaders } from './answer.ts';

/** The media type of a response in lower case, without its parameters. Empty if the response has none. */
export function mediaTypeOf(headers: AnswerHeaders): string {
  const type = headers['content-type'];
  if (type === undefined) return '';
  const [bare = ''] = String(type).split(';', 1);
  return bare.trim().toLowerCase();
}

export const eventStreamType = 'text/event-stream';

/** Whether a body is JSON according to its media type. */
export function isJson(type: string | readonly string[] | undefined): boolean {
  return typeof type === 'string' && /^application\/json\s*(;|$)/i.test(type);
}
