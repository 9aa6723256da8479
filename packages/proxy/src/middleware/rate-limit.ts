import { createHash } from 'node:crypto';
import { errorCodes } from '../jsonrpc/message.ts';
import { refusal } from './message-pipeline.ts';
import type { CallContext, Middleware, Outcome } from './middleware.ts';

/** How many calls are possible at once, and the time after which they are possible again. */
interface RateLimit {
  maxTokens: number;
  refillMs: number;
}

interface ScopedLimits {
  /** For all callers together. */
  shared?: RateLimit | undefined;
  /** For each authenticated caller. */
  perUser?: RateLimit | undefined;
}

/** The limits on tool calls. A call must be within all that apply. */
export interface RateLimits extends ScopedLimits {
  /** The limits on single tools, by the server's own names. */
  tools?: Readonly<Record<string, ScopedLimits>> | undefined;
}

/** A limit with the name of its bucket. */
interface Bucket extends RateLimit {
  key: string;
}

/** Where tokens are counted. */
export interface TokenBuckets {
  /** Takes a token from every bucket, or from none. Returns how long to wait for the missing ones, 0 if none is. */
  take: (buckets: readonly Bucket[]) => Promise<number>;
}

export interface RateLimitOptions {
  limits: RateLimits;
  /** The buckets that all proxies share. By default, and while they do not answer, each proxy counts for itself. */
  shared?: TokenBuckets | undefined;
  now?: (() => number) | undefined;
}

/** Callers that only one proxy remembers. The one that has not called for the longest time is forgotten first. */
const maxBuckets = 10_000;

/** Refuses tool calls beyond the limits. Undefined without limits. */
export function rateLimit({
  rateLimits,
}: {
  rateLimits?: RateLimitOptions | undefined;
}): Middleware | undefined {
  return rateLimits === undefined ? undefined : new RateLimiter(rateLimits);
}

class RateLimiter implements Middleware {
  readonly isObserver = true;
  readonly #limits: RateLimits;
  readonly #shared: TokenBuckets | undefined;
  readonly #own: LocalBuckets;

  constructor({ limits, shared, now }: RateLimitOptions) {
    this.#limits = limits;
    this.#shared = shared;
    this.#own = new LocalBuckets(now);
  }

  readonly message = (context: CallContext): Outcome | Promise<Outcome> => {
    const { direction, message } = context;
    if (direction !== 'to server' || message.kind !== 'request' || message.value.method !== 'tools/call')
      return message;
    const buckets = bucketsFor(this.#limits, context);
    if (buckets.length === 0) return message;
    return this.#take(buckets).then((waitMs) => (waitMs === 0 ? message : refused(waitMs)));
  };

  async #take(buckets: readonly Bucket[]): Promise<number> {
    if (this.#shared === undefined) return this.#own.take(buckets);
    // The storage itself reports that it does not answer.
    return this.#shared.take(buckets).catch(() => this.#own.take(buckets));
  }
}

function refused(waitMs: number): Outcome {
  const seconds = String(Math.ceil(waitMs / 1000));
  const message = `too many tool calls: the next one is possible in ${seconds} s`;
  const http = { status: 429, headers: { 'retry-after': seconds } };
  return { ...refusal(errorCodes.serverError, message, { retryAfterMs: waitMs }), http };
}

function bucketsFor(limits: RateLimits, { workload, principal, message }: CallContext): Bucket[] {
  const name = message.value.params?.['name'];
  const tool = typeof name === 'string' && Object.hasOwn(limits.tools ?? {}, name) ? name : undefined;
  const scopes = [
    { scope: 'all', own: limits },
    ...(tool === undefined ? [] : [{ scope: `tool ${tool}`, own: limits.tools?.[tool] ?? {} }]),
  ];
  return scopes.flatMap(({ scope, own: { shared, perUser } }) => [
    ...(shared === undefined ? [] : [{ ...shared, key: keyOf(workload, scope) }]),
    // Without authentication, there are no users to tell apart.
    ...(perUser === undefined || principal.id === ''
      ? []
      : [{ ...perUser, key: keyOf(workload, scope, principal.id) }]),
  ]);
}

/** The name of a bucket. A program that reads the storage does not learn who calls. */
function keyOf(...parts: string[]): string {
  return `limit:${createHash('sha256').update(JSON.stringify(parts)).digest('base64url')}`;
}

/** Token buckets in the memory of this process. */
class LocalBuckets implements TokenBuckets {
  readonly #now: () => number;
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>();

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  async take(buckets: readonly Bucket[]): Promise<number> {
    const atMs = this.#now();
    const levels = buckets.map(({ key, maxTokens, refillMs }) => {
      const { tokens, atMs: lastMs } = this.#buckets.get(key) ?? { tokens: maxTokens, atMs };
      return Math.min(maxTokens, tokens + ((atMs - lastMs) * maxTokens) / refillMs);
    });
    const waits = buckets.map(({ maxTokens, refillMs }, at) =>
      Math.max(0, Math.ceil(((1 - (levels[at] ?? 0)) * refillMs) / maxTokens)),
    );
    const waitMs = Math.max(0, ...waits);
    for (const [at, { key }] of buckets.entries()) {
      this.#buckets.delete(key);
      this.#buckets.set(key, { tokens: (levels[at] ?? 0) - (waitMs === 0 ? 1 : 0), atMs });
      const [oldest] = this.#buckets.keys();
      if (this.#buckets.size > maxBuckets && oldest !== undefined) this.#buckets.delete(oldest);
    }
    return waitMs;
  }
}
