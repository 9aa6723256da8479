import type { ServerResponse } from 'node:http';
import { bytesOf, encodedAround } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { UnacceptableBody } from './body.ts';
import { writeSoon } from './reply-queue.ts';

/** Answers with one line of plain text. */
export function replyText(
  response: ServerResponse,
  status: number,
  message: string,
  headers: Record<string, string> = {},
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
    ...headers,
  });
  response.end(`${message}\n`);
}

/** Answers a request whose body is not accepted. The rest of the body is not read, so the connection ends. */
export function replyUnacceptable(response: ServerResponse, { status, message }: UnacceptableBody): void {
  const headers = { connection: 'close', ...(status === 503 ? { 'retry-after': '1' } : {}) };
  replyText(response, status, message, headers);
}

/** Answers with JSON text, at the end of this turn of the event loop. */
export function replyJson(
  response: ServerResponse,
  status: number,
  text: string,
  headers?: Record<string, string>,
): void {
  if (response.headersSent) return; // answered before, with a failure
  const bytes = Buffer.byteLength(text);
  const own = { 'content-type': 'application/json', 'content-length': bytes };
  response.writeHead(status, headers === undefined ? own : { ...own, ...headers });
  endSoon(response, text, bytes);
}

/** Ends a response with a text of so many bytes, at the end of this turn of the event loop. */
export function endSoon(response: ServerResponse, text: string, bytes: number): void {
  writeSoon(response, () => {
    if (!response.writableEnded) response.end(text, bytes === text.length ? 'latin1' : 'utf8'); // ASCII is written faster as Latin-1
  });
}

/** Answers with a message. The bytes of an answer that many requests get are shared by all of them. */
export function replyMessage(
  response: ServerResponse,
  status: number,
  message: Message,
  headers?: Record<string, string>,
): void {
  const { text, repeated } = message;
  if (repeated === undefined) return replyJson(response, status, text, headers);
  if (response.headersSent) return;
  const { before, after } = encodedAround(repeated.answer);
  const own = { 'content-type': 'application/json', 'content-length': bytesOf(message) };
  response.writeHead(status, headers === undefined ? own : { ...own, ...headers });
  writeSoon(response, () => {
    if (response.writableEnded) return;
    response.cork(); // until the end: one system call writes all parts
    response.write(before);
    response.write(repeated.id);
    response.end(after);
  });
}
