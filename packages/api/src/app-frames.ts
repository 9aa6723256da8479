import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import { ThvError, unavailable } from '@toolhive/contract/failure';
import { Hono } from 'hono';
import { appHeaders, appPaths, gateHeaders } from './app-policy.ts';
import type { AppGrants } from './app-policy.ts';
import { fixedHeaders, rateLimit } from './guards.ts';
import { listenOnTcp } from './listen.ts';
import type { Listener } from './listen.ts';
import type { ReadUiFile } from './ui.ts';

/** How long a frame can be loaded. */
const frameMs = 60_000;
/** The number of frames that wait to be loaded. Beyond it, the oldest is dropped. */
const maxFrames = 50;
/** How often another port is tried if a program has the same port of the other address family. */
const maxAttempts = 5;

/** The name of the built gate, which is a classic script. */
export const gateFile = 'app-gate.js';

interface Frame {
  /** The origin of the frame, and that of the web UI around it. */
  origin: string;
  ui: string;
  grants: AppGrants;
  proof: string;
  /** The document that the token is for: first the gate, then the document of the app. */
  next: 'gate' | 'app';
  expires: number;
}

/**
 * Frames in which the web UI shows MCP Apps. They have a port of their own, and the loopback name that the web UI does not
 * have: `localhost` for a web UI at 127.0.0.1, and the reverse. So browsers send an app no cookies of the web UI, keep both
 * apart as different sites, and nothing else is served at the origin. The API refuses requests from there.
 */
export class AppFrames implements AsyncDisposable {
  readonly #read: ReadUiFile;
  readonly #now: () => number;
  readonly #frames = new Map<string, Frame>();
  #listening: Promise<readonly Listener[]> | undefined;

  constructor(read: ReadUiFile, now: () => number = () => performance.now()) {
    this.#read = read;
    this.#now = now;
  }

  /** The origin for apps of a web UI at this address. Undefined if the address has no separate origin. */
  async originFor(host: string): Promise<string | undefined> {
    const name = /^(localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i.exec(host)?.[1]?.toLowerCase();
    if (name === undefined) return undefined;
    if (this.#listening === undefined) {
      this.#listening = this.#listen();
      this.#listening.catch(() => (this.#listening = undefined)); // the next call tries again
    }
    const [{ port } = { port: 0 }] = await this.#listening;
    return `http://${name === '127.0.0.1' ? 'localhost' : '127.0.0.1'}:${port}`;
  }

  /** Returns a frame for one app of a web UI at this address. Throws `unavailable` if the address has no separate origin. */
  async create(host: string, grants: AppGrants): Promise<{ url: string; proof: string }> {
    const origin = await this.originFor(host);
    if (origin === undefined) {
      throw unavailable(`an app needs a separate origin, which a web UI at ${host} does not have`, {
        hint: 'open the web UI on the machine of the daemon with thv ui',
      });
    }
    const [oldest] = this.#frames.keys();
    if (this.#frames.size >= maxFrames && oldest !== undefined) this.#frames.delete(oldest);
    const proof = secret();
    const ui = `http://${host.toLowerCase()}`;
    return {
      url: `${origin}${appPaths.frame}${this.#add({ origin, ui, grants, proof, next: 'gate' })}`,
      proof,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const listeners = await this.#listening?.catch(() => []); // failed listeners need no end
    for (const listener of listeners ?? []) await listener[Symbol.asyncDispose]();
  }

  #add(frame: Omit<Frame, 'expires'>): string {
    const token = secret();
    this.#frames.set(token, { ...frame, expires: this.#now() + frameMs });
    return token;
  }

  /** Returns the frame with this token, once. */
  #take(token: string, next: Frame['next'], host: string): Frame | undefined {
    const frame = this.#frames.get(token);
    if (frame?.next !== next || frame.origin !== `http://${host}`) return undefined;
    this.#frames.delete(token);
    return frame.expires < this.#now() ? undefined : frame;
  }

  /** Listens on both loopback addresses, so that no other program answers for `localhost`. */
  async #listen(attempt = 1): Promise<readonly Listener[]> {
    const app = this.#app();
    const first = await listenOnTcp(app, { host: '127.0.0.1', port: 0 });
    try {
      return [first, await listenOnTcp(app, { host: '::1', port: first.port })];
    } catch (thrown) {
      const isTaken = thrown instanceof ThvError && thrown.kind === 'conflict';
      if (!isTaken) return [first]; // this machine has no IPv6
      await first[Symbol.asyncDispose]();
      if (attempt === maxAttempts) throw thrown;
      return this.#listen(attempt + 1);
    }
  }

  #app(): Hono {
    const app = new Hono();
    app.onError(() => missing());
    app.notFound(() => missing());
    app.use(rateLimit());
    app.get(`${appPaths.frame}:token`, async ({ req }) => {
      const frame = isFrame(req.raw) ? this.#take(req.param('token'), 'gate', hostOf(req.raw)) : undefined;
      return frame === undefined ? missing() : this.#gate(frame);
    });
    app.get(`${appPaths.page}:token`, ({ req }) => {
      const frame = isFrame(req.raw) ? this.#take(req.param('token'), 'app', hostOf(req.raw)) : undefined;
      if (frame === undefined) return missing();
      return new Response(appDocument, { headers: appHeaders(frame.origin, frame.ui, frame.grants) });
    });
    for (const path of [appPaths.reachable, appPaths.blocked])
      app.get(path, () => new Response(null, { status: 204, headers: fixedHeaders }));
    return app;
  }

  async #gate(frame: Frame): Promise<Response> {
    const script = await this.#script();
    const page = `${appPaths.page}${this.#add({ ...frame, next: 'app' })}`;
    const nonce = secret();
    const { origin, ui, proof } = frame;
    const html = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>MCP App</title>
<style nonce="${nonce}">html,body,iframe{display:block;width:100%;height:100%;margin:0;border:0;overflow:hidden}</style></head>
<body><script nonce="${nonce}" data-page="${page}" data-ui="${ui}" data-proof="${proof}">${script}</script></body>
</html>
`;
    return new Response(html, { headers: gateHeaders(origin, ui, nonce) });
  }

  async #script(): Promise<string> {
    const compressed = await this.#read(`${gateFile}.br`);
    if (compressed === undefined) throw new Error(`the built web UI has no ${gateFile}`);
    return String(await promisify(brotliDecompress)(compressed));
  }
}

/** The document of an app, before the gate hands it the page of the server. Writing keeps the address and the policy. */
const appDocument = `<!doctype html><title>MCP App</title><script>
addEventListener('message', ({ source, data }) => {
  if (source !== parent) return;
  document.open();
  document.write(data);
  document.close();
});
parent.postMessage('', '*');
</script>
`;

/** Whether a frame of a page loads this. Browsers without Fetch Metadata say nothing. */
function isFrame({ headers }: Request): boolean {
  return ['iframe', null].includes(headers.get('sec-fetch-dest'));
}

function hostOf({ headers }: Request): string {
  return (headers.get('host') ?? '').toLowerCase();
}

function missing(): Response {
  return new Response('not found\n', { status: 404, headers: fixedHeaders });
}

function secret(): string {
  return randomBytes(32).toString('base64url');
}
