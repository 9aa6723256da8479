import { createClient } from '@toolhive/contract/client';
import type { Send } from '@toolhive/contract/client';
import { ThvError } from '@toolhive/contract/failure';

/** Sends a request of the typed client to the daemon that served this page. */
const send: Send = async ({ method, path, headers, body, signal }) => {
  const response = await fetch(path, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
    signal: signal ?? null,
    credentials: 'same-origin',
    cache: 'no-store',
    keepalive: method === 'DELETE', // also completes when the page is closed
  }).catch((thrown: unknown) => {
    if (signal?.aborted === true) throw thrown;
    throw new ThvError('unavailable', 'the daemon does not respond', {
      hint: 'start it again with thv serve or thv ui', // shown as a command to copy
      cause: thrown,
    });
  });
  return {
    status: response.status,
    contentType: response.headers.get('content-type') ?? undefined,
    body: textOf(response),
  };
};

async function* textOf({ body }: Response): AsyncGenerator<string> {
  if (body === null) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {}); // the stream has ended by itself
  }
}

/** Every operation of the API. */
export const client = createClient(send);
