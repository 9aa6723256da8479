import type { ServerResponse } from 'node:http';

/** Answers with plain text, a line. */
export function replyText(
  response: ServerResponse,
  status: number,
  message: string,
  headers: Record<string, string> = {},
): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
    ...headers,
  });
  response.end(`${message}\n`);
}

/** Answers with a text that is JSON already. */
export function replyJson(
  response: ServerResponse,
  status: number,
  text: string,
  headers?: Record<string, string>,
): void {
  if (response.headersSent) return; // it was answered otherwise already, with a failure
  const own = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  response.writeHead(status, headers === undefined ? own : { ...own, ...headers });
  response.end(text);
}
