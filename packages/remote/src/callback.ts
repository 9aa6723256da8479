import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { conflict, unavailable } from '@toolhive/contract/failure';

/** The one answer of the browser that a flow waits for. */
export interface CallbackAnswer {
  parameters: URLSearchParams;
  /** Shows the user the result in the browser. Returns when the response is sent. */
  show: (outcome: 'signed-in' | 'failed') => Promise<void>;
  /** Sends the browser to another page instead. */
  goTo: (url: string) => Promise<void>;
}

const path = '/callback';
const host = '127.0.0.1';
const requestMs = 5_000;
const maxConnections = 32;

/**
 * Listens on this machine for the browser's redirect. Accepts only the first response with the right `state`, because
 * other programs with access to the port, such as a web page, must not be able to end the flow.
 */
export class CallbackListener implements AsyncDisposable {
  readonly #server: Server;
  #state: string;
  #answer = Promise.withResolvers<CallbackAnswer>();
  #isTaken = false;

  private constructor(server: Server, state: string) {
    this.#server = server;
    this.#state = state;
    this.#answer.promise.catch(() => {}); // the waiting caller receives the error, and waiting is optional
    server.on('request', (request, response) => this.#handle(request, response));
  }

  /** Port 0 takes any that is free. Throws `conflict` when the port is taken. */
  static async open(port: number, state: string): Promise<CallbackListener> {
    const server = createServer({ requestTimeout: requestMs, headersTimeout: requestMs, keepAlive: false });
    server.maxConnections = maxConnections;
    server.listen({ port, host, exclusive: true });
    try {
      await once(server, 'listening');
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EADDRINUSE') {
        throw conflict(`port ${port} for the sign-in callback is in use`, {
          hint: 'stop the program on that port, or configure another callback_port',
        });
      }
      throw unavailable(`cannot listen on port ${port} for the sign-in callback: ${code}`);
    }
    server.on('error', () => {}); // one connection could not be accepted
    return new CallbackListener(server, state);
  }

  /**
   * The redirect URL. Clients that were registered by hand use `localhost`, as in the original. Otherwise the URL
   * contains the numeric address, which no name server can redirect (RFC 8252).
   */
  redirectUri(name: 'localhost' | '127.0.0.1'): string {
    return `http://${name}:${this.#port}${path}`;
  }

  /** Waits for another answer after the first. */
  expect(state: string): void {
    this.#state = state;
    this.#answer = Promise.withResolvers();
    this.#answer.promise.catch(() => {});
    this.#isTaken = false;
  }

  async answer(signal: AbortSignal): Promise<CallbackAnswer> {
    const expected = this.#answer;
    const stop = (): void => expected.reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    try {
      signal.throwIfAborted();
      return await expected.promise;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo).port; // it listens
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const own = this.redirectUri(host);
    const url = URL.parse(request.url ?? '', own);
    // A page of elsewhere whose name suddenly leads here says so in its Host.
    const isOurs = [`${host}:${this.#port}`, `localhost:${this.#port}`].includes(request.headers.host ?? '');
    if (!isOurs || url === null || `${url.origin}${url.pathname}` !== own)
      return send(response, 404, pages.nothing);
    if (request.method !== 'GET') return send(response, 405, pages.nothing);
    const states = url.searchParams.getAll('state');
    if (this.#isTaken || states.length !== 1 || states[0] !== this.#state)
      return send(response, 400, pages.unexpected);
    this.#isTaken = true;
    this.#answer.resolve({
      parameters: url.searchParams,
      async show(outcome) {
        if (response.closed) return;
        const closed = once(response, 'close');
        send(response, outcome === 'failed' ? 400 : 200, pages[outcome]);
        await closed;
      },
      async goTo(location) {
        if (response.closed) return;
        const closed = once(response, 'close');
        response.writeHead(303, {
          location,
          'cache-control': 'no-store',
          'referrer-policy': 'no-referrer',
          connection: 'close',
        });
        response.end();
        await closed;
      },
    });
  }
}

/** Fixed sentences without any external text. */
const pages = {
  'signed-in': { title: 'Signed in', text: 'ToolHive can now use the server. You can close this window.' },
  failed: {
    title: 'Not signed in',
    text: 'The sign-in failed. ToolHive shows the reason. You can close this window.',
  },
  unexpected: {
    title: 'Not expected',
    text: 'ToolHive does not expect this response, or has already received it.',
  },
  nothing: { title: 'Nothing here', text: 'There is nothing at this address.' },
};

const style =
  'body{font:1.125rem/1.5 system-ui,sans-serif;max-width:36rem;margin:15vh auto;padding:0 1.5rem}';

function send(
  response: ServerResponse,
  status: number,
  { title, text }: { title: string; text: string },
): void {
  const styleHash = createHash('sha256').update(style).digest('base64');
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'cross-origin-opener-policy': 'same-origin',
    connection: 'close',
  });
  response.end(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${title} – ToolHive</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${title}</h1>
<p>${text}</p>
</main>
</body>
</html>
`);
}
