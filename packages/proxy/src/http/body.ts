import type { IncomingMessage } from 'node:http';
import { isUtf8 } from 'node:buffer';

/** The largest request body that is accepted. */
export const maxBodyBytes = 16 * 1024 * 1024;

/** Why a body was not accepted, as an HTTP status. */
export class UnacceptableBody extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Reads a request body as text, and calls back once, with the text or with what was wrong. */
export function readBody(
  request: IncomingMessage,
  done: (error: UnacceptableBody | undefined, text: string) => void,
): void {
  let chunks: Buffer[] = [];
  let bytes = 0;
  let settled = false;

  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= maxBodyBytes) {
      chunks.push(chunk);
      return;
    }
    chunks = [];
    request.pause();
    settle(new UnacceptableBody(413, `the body is larger than ${maxBodyBytes / 1024 / 1024} MiB`), '');
  });
  request.on('end', () => {
    const body = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
    if (isUtf8(body)) settle(undefined, body.toString('utf8'));
    else settle(new UnacceptableBody(400, 'the body is not UTF-8'), '');
  });
  request.on('error', () => settle(new UnacceptableBody(400, 'the body ended early'), ''));

  function settle(error: UnacceptableBody | undefined, text: string): void {
    if (settled) return;
    settled = true;
    try {
      done(error, text);
    } catch (fault) {
      request.emit('fault', fault); // to the recovery middleware: this runs outside of its call
    }
  }
}
