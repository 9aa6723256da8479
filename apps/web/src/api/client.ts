import { createClient } from '@toolhive/contract/client';
import type { Send } from '@toolhive/contract/client';
import { ThvError } from '@toolhive/contract/failure';

let patience = new AbortController();
let heardAt = 0;

/** When the daemon last sent anything, in milliseconds since 1970. Its streams have a heartbeat. */
export function lastHeardAt(): number {
  return heardAt;
}

/** Ends all requests that wait for a daemon that hangs. Each fails as if the connection were lost. */
export function giveUp(): void {
  patience.abort();
  patience = new AbortController();
}

/** Sends a request to the daemon that served this page. Throws `unavailable` if it does not respond. */
export function request(path: string, init: RequestInit): Promise<Response> {
  const signal = AbortSignal.any(init.signal ? [init.signal, patience.signal] : [patience.signal]);
  const options = { ...init, signal, credentials: 'same-origin', cache: 'no-store' } as const;
  return fetch(path, options).catch((thrown: unknown) => {
    if (init.signal?.aborted === true) throw thrown;
    throw new ThvError('unavailable', 'the daemon does not respond', {
      hint: 'start it again with thv serve or thv ui', // shown as a command to copy
      cause: thrown,
    });
  });
}

/** The failure of a request whose answer ended early: how far the daemon has come is not known. */
export function interrupted(cause: unknown): ThvError {
  return new ThvError('unavailable', 'the connection to the daemon was lost before it answered', {
    hint: 'look at the current state before you try again, because the daemon can have done a part of it',
    cause,
  });
}

const send: Send = async ({ method, path, headers, body, signal }) => {
  const response = await request(path, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
    signal: signal ?? null,
    keepalive: method === 'DELETE', // also completes when the page is closed
  });
  return {
    status: response.status,
    contentType: response.headers.get('content-type') ?? undefined,
    body: textOf(response, signal),
  };
};

async function* textOf({ body }: Response, signal: AbortSignal | undefined): AsyncGenerator<string> {
  if (body === null) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heardAt = Date.now();
      yield value;
    }
  } catch (thrown) {
    throw signal?.aborted === true ? thrown : interrupted(thrown);
  } finally {
    await reader.cancel().catch(() => {}); // the stream has ended by itself
  }
}

/** Every operation of the API. */
export const client = createClient(send);
