import type { AnswerHeaders } from './answer.ts';

const maxCookies = 20;
const maxChars = 4096;
/** A name and a value that can be sent back as they are (RFC 6265, section 4.1.1). */
const pair = /^\s*([!#$%&'*+\-.^_`|~\w]+)=([\x21-\x3a\x3c-\x7e]*)\s*(?:;|$)/;

/**
 * The cookies of one conversation. Load balancers use them to lead all requests of a session to the same instance of a server.
 * They are sent to the origin that has set them only, because a conversation has no other one, and are forgotten
 * with the conversation.
 */
export class Cookies {
  readonly #values = new Map<string, string>();

  /** Takes the cookies that a response sets. */
  take({ 'set-cookie': set }: AnswerHeaders): void {
    if (set === undefined) return;
    for (const text of typeof set === 'string' ? [set] : set) {
      const [, name, value] = pair.exec(text) ?? [];
      if (name === undefined || value === undefined || name.length + value.length > maxChars) continue;
      this.#values.delete(name);
      if (!isExpired(text) && this.#values.size < maxCookies) this.#values.set(name, value);
    }
  }

  /** The header for the next request. */
  get headers(): Record<string, string> {
    if (this.#values.size === 0) return {};
    return { cookie: [...this.#values].map(([name, value]) => `${name}=${value}`).join('; ') };
  }
}

function isExpired(text: string): boolean {
  const [, seconds] = /;\s*max-age=(-?\d+)/i.exec(text) ?? [];
  if (seconds !== undefined) return Number(seconds) <= 0;
  const [, date] = /;\s*expires=([^;]*)/i.exec(text) ?? [];
  return date !== undefined && Date.parse(date) <= Date.now();
}
