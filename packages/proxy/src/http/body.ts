import type { IncomingMessage } from 'node:http';
import { isUtf8 } from 'node:buffer';
import { messageTooLarge } from '../input/byte-budget.ts';
import { Chunks } from '../input/chunks.ts';
import type { WorkloadInput } from '../input/workload-input.ts';

/** A body was not accepted, with the HTTP status that says why. */
export class UnacceptableBody extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Returns the error for a body that is too large. */
export function bodyTooLarge(): UnacceptableBody {
  return new UnacceptableBody(413, `the body is ${messageTooLarge}`);
}

/** Returns the error for a body that exceeds the budget of incomplete bodies. */
export function noRoomForBody(): UnacceptableBody {
  return new UnacceptableBody(
    503,
    'incomplete requests use all the memory that is available for them, try again later',
  );
}

/** Some clients compress their requests without being asked. */
function unreadable({ headers }: IncomingMessage): UnacceptableBody {
  const coding = headers['content-encoding'];
  if (coding === undefined) return new UnacceptableBody(400, 'the body is not UTF-8');
  const named = JSON.stringify(coding.slice(0, 40));
  return new UnacceptableBody(415, `the body is compressed with ${named}, send it without compression`);
}

/** Reads a request body. Calls back once, with the text or an error, when processing time is available. */
export function readBody(
  request: IncomingMessage,
  input: WorkloadInput,
  done: (error: UnacceptableBody | undefined, text: string) => void,
): void {
  const chunks = new Chunks(input.requests);
  let settled = false;

  request.on('data', (chunk: Buffer) => {
    const excess = chunks.add(chunk);
    if (excess === undefined) return;
    request.pause();
    settle(excess === 'too large' ? bodyTooLarge() : noRoomForBody());
  });
  request.on('end', () => {
    input.process(() => {
      const body = chunks.joined();
      if (isUtf8(body)) settle(undefined, body.toString('utf8'));
      else settle(unreadable(request));
      return false;
    });
  });
  request.on('error', () => settle(new UnacceptableBody(400, 'the body ended early')));

  function settle(error: UnacceptableBody | undefined, text = ''): void {
    if (settled) return;
    settled = true;
    chunks.release();
    try {
      done(error, text);
    } catch (fault) {
      request.emit('fault', fault); // to the recovery middleware: this runs outside of its call
    }
  }
}
