import { createHash, randomBytes } from 'node:crypto';
import { unauthorized } from '@toolhive/contract/failure';

/** How long a code can be exchanged for a session. */
const codeMs = 60_000;
/** How long a session lasts without a request. */
const sessionMs = 12 * 60 * 60_000;
/** The number of codes and of sessions. Beyond it, the oldest is dropped. */
const maxEntries = 100;

/** The browsers that have signed in to the web UI. Only hashes of their secrets are kept, in memory. */
export class UiSessions {
  readonly #codes = new Map<string, number>();
  readonly #sessions = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Returns a code that signs one browser in. */
  issueCode(): string {
    const code = secret();
    add(this.#codes, code, this.#now() + codeMs);
    return code;
  }

  /** Exchanges a code for a session secret. Throws `unauthorized` for a code that is unknown, used, or expired. */
  redeem(code: string): string {
    const key = digest(code);
    const expires = this.#codes.get(key);
    this.#codes.delete(key);
    if (expires === undefined || expires < this.#now()) {
      throw unauthorized('this sign-in code is not valid any more', {
        hint: 'run thv ui again. Each code works once, for one minute',
      });
    }
    const session = secret();
    add(this.#sessions, session, this.#now() + sessionMs);
    return session;
  }

  /** Whether a session secret is valid. Extends the session. */
  accepts(session: string): boolean {
    const key = digest(session);
    const expires = this.#sessions.get(key);
    if (expires === undefined) return false;
    this.#sessions.delete(key);
    if (expires < this.#now()) return false;
    this.#sessions.set(key, this.#now() + sessionMs);
    return true;
  }
}

function secret(): string {
  return randomBytes(32).toString('base64url');
}

/** Lookup by a hash takes no time that depends on how much of a guess is right. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

function add(entries: Map<string, number>, text: string, expires: number): void {
  const [oldest] = entries.keys();
  if (entries.size >= maxEntries && oldest !== undefined) entries.delete(oldest);
  entries.set(digest(text), expires);
}

/** The name of the cookie. Browsers send cookies to all ports of a host, so each listener has its own. */
export function cookieName(host: string): string {
  return `toolhive-ui-${/:(\d+)$/.exec(host)?.[1] ?? '80'}`;
}

/** The header that stores a session in the browser, out of reach of scripts and of other sites. */
export function sessionCookie(host: string, session: string): string {
  return `${cookieName(host)}=${session}; Path=/api/; HttpOnly; SameSite=Strict; Max-Age=${sessionMs / 1000}`;
}

/**
 * The session secrets in a `Cookie` header. Every page of this host, on any port, can add cookies of the same name, and the
 * browser sends those for a longer path first.
 */
export function sessionsIn(cookies: string | undefined, host: string): string[] {
  const name = `${cookieName(host)}=`;
  const pairs = cookies?.split(/; */).filter((text) => text.startsWith(name)) ?? [];
  return pairs.map((pair) => pair.slice(name.length));
}
