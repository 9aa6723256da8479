import type { Readable } from 'node:stream';

/** The parameter of a sign-in page that sends the answer to a port of this machine (RFC 8252, section 7.3), and the port. */
export const loopbackRedirect =
  /\bredirect_ur[il]=https?(?::|%3A)(?:\/|%2F){2}(?:localhost|127\.0\.0\.1|(?:\[|%5B)(?::|%3A){2}1(?:\]|%5D))(?:(?::|%3A)(\d{1,5})|\b)/i;

/** Printable ASCII without quotes, brackets, and the backslash of JSON: a server writes the address, and a terminal shows it. */
const address = /https:\/\/[\x21\x23-\x26\x28-\x3b\x3d\x3f-\x5b\x5d-\x5f\x61-\x7e]+/g;

/** How much of a line is searched, and how many pages and ports are told. */
const maxChars = 8_000;
const maxTold = 5;

/** Whether a port can be published: a number that needs no privileges. */
export function isPublishable(port: string | undefined): port is string {
  return port !== undefined && Number(port) >= 1024 && Number(port) <= 65_535;
}

interface Listeners {
  /** Receives a page that the user can open. */
  report: (text: string) => void;
  /** Receives a fix if the answer of a page cannot reach the server. */
  warn: (text: string) => void;
}

/** Searches a server's output for sign-in pages that a user must open, and tells each page or port once. */
export class SignInLinks {
  readonly #published: readonly number[];
  readonly #listeners: Listeners;
  readonly #told = new Set<string>();

  /** `published` are the ports of the server that a browser can reach. */
  constructor(published: readonly number[], listeners: Listeners) {
    this.#published = published;
    this.#listeners = listeners;
  }

  /** Looks at a piece of output. */
  readonly look = (chunk: Buffer): void => {
    if (this.#told.size >= maxTold || !chunk.includes('redirect_ur')) return;
    for (const line of chunk.toString('latin1').split('\n'))
      for (const [url] of line.slice(0, maxChars).matchAll(address)) this.#lookAt(url);
  };

  /** Observes everything that is read from a stream, without consuming it. */
  follow(stream: Readable): void {
    stream.once('resume', () => stream.on('data', this.look));
  }

  #lookAt(url: string): void {
    const [redirect, port] = loopbackRedirect.exec(url) ?? [];
    if (redirect === undefined || !isPublishable(port)) return;
    const isReached = this.#published.includes(Number(port));
    // A server can make a new page for each attempt.
    const key = isReached ? url : port;
    if (this.#told.has(key) || this.#told.size >= maxTold) return;
    this.#told.add(key);
    if (isReached) this.#listeners.report(`the server asks you to sign in at ${url}`);
    else
      this.#listeners.warn(
        `a sign-in page sends its answer to server port ${port}, which a browser cannot reach. To sign in, run it with --publish ${port}`,
      );
  }
}
