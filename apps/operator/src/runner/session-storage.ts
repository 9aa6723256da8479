import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { invalid, messageOf } from '@toolhive/contract/failure';
import type { ReplicaOptions } from '@toolhive/core/single-workload';
import { Redis } from 'ioredis';
import type { Logger } from 'pino';

export interface StorageAddress {
  host: string;
  port: number;
  db: number;
  /** The prefix of all keys, which nothing else in the storage has. */
  keyPrefix: string;
  username?: string | undefined;
  password?: string | undefined;
  /** The file with the certificate authority of the storage, or `system` for those of the system. By default, no TLS. */
  tls?: string | undefined;
}

/** How long the storage may take. Nothing that a client waits for takes longer. */
const answerMs = 2_000;
const maxRetryMs = 10_000;
/** The limits on reading a list. A foreign value can be larger than the memory of the proxy. */
const maxItems = 200;
const maxItemBytes = 1024 * 1024;
const maxListBytes = 32 * 1024 * 1024;

const append = `
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'list' and kind ~= 'none' then redis.call('DEL', KEYS[1]) end
for at = 3, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[at]) end
redis.call('LTRIM', KEYS[1], -tonumber(ARGV[1]), -1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`;

const read = `
if redis.call('TYPE', KEYS[1]).ok ~= 'list' then return {} end
local found, bytes = {}, 0
for _, value in ipairs(redis.call('LRANGE', KEYS[1], -${maxItems}, -1)) do
  if #value <= ${maxItemBytes} and bytes + #value <= ${maxListBytes} then
    bytes = bytes + #value
    found[#found + 1] = value
  end
end
return found`;

type SharedStorage = NonNullable<ReplicaOptions['storage']>;

/** Takes one token from each bucket, or none. Values of other programs cannot keep a bucket empty. */
const take = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local levels, wait = {}, 0
for at, key in ipairs(KEYS) do
  local capacity, period = tonumber(ARGV[2 * at - 1]), tonumber(ARGV[2 * at])
  local kind = redis.call('TYPE', key).ok
  if kind ~= 'hash' and kind ~= 'none' then redis.call('DEL', key) end
  local stored = redis.call('HMGET', key, 'tokens', 'at')
  local tokens, last = tonumber(stored[1] or capacity), tonumber(stored[2] or now)
  if not tokens or tokens ~= tokens or tokens < -1 or tokens > capacity then tokens = capacity end
  if not last or last ~= last or last > now then last = now end
  tokens = math.min(capacity, tokens + (now - last) * capacity / period)
  levels[at] = tokens
  if tokens < 1 then wait = math.max(wait, math.ceil((1 - tokens) * period / capacity)) end
end
for at, key in ipairs(KEYS) do
  local left = levels[at]
  if wait == 0 then left = left - 1 end
  redis.call('HSET', key, 'tokens', string.format('%.6f', left), 'at', string.format('%d', now))
  redis.call('PEXPIRE', key, ARGV[2 * at])
end
return wait`;

/** A storage that speaks the protocol of Valkey and Redis. The proxy continues without it. */
export class SessionStorage implements SharedStorage, Disposable {
  readonly #redis: Redis;
  readonly #prefix: string;
  readonly #log: Logger;
  readonly #usesTls: boolean;
  #answers: boolean | undefined;

  private constructor(redis: Redis, prefix: string, usesTls: boolean, log: Logger) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.#usesTls = usesTls;
    this.#log = log;
    redis.on('ready', () => this.#report(true));
    redis.on('error', (error: unknown) => this.#report(false, error));
    redis.connect().catch(() => {}); // reported as an error, and attempted again
  }

  /** Connects in the background. Throws `invalid` for a certificate authority that cannot be read. */
  static async open({ keyPrefix, tls, ...address }: StorageAddress, log: Logger): Promise<SessionStorage> {
    const redis = new Redis({
      ...address,
      ...(tls === undefined ? {} : { tls: tls === 'system' ? {} : { ca: await readAuthority(tls) } }),
      lazyConnect: true,
      connectTimeout: answerMs,
      commandTimeout: answerMs,
      maxRetriesPerRequest: 0,
      enableOfflineQueue: false,
      retryStrategy: (attempt) => Math.min(100 * 2 ** attempt, maxRetryMs),
    });
    return new SessionStorage(redis, keyPrefix, tls !== undefined, log);
  }

  async append(
    key: string,
    values: readonly string[],
    { items, keptMs }: { items: number; keptMs: number },
  ): Promise<void> {
    await this.#run(append, [key], [items, keptMs, ...values]);
  }

  async read(key: string): Promise<string[]> {
    return (await this.#run(read, [key], [])) as string[];
  }

  async take(buckets: Parameters<SharedStorage['take']>[0]): Promise<number> {
    const keys = buckets.map(({ key }) => key);
    const values = buckets.flatMap(({ maxTokens, refillMs }) => [maxTokens, refillMs]);
    return (await this.#run(take, keys, values)) as number;
  }

  [Symbol.dispose](): void {
    this.#redis.disconnect();
  }

  async #run(script: string, keys: readonly string[], values: (string | number)[]): Promise<unknown> {
    try {
      const places = keys.map((key) => `${this.#prefix}${key}`);
      const answer = await this.#redis.eval(script, keys.length, ...places, ...values);
      this.#report(true);
      return answer;
    } catch (error) {
      this.#report(false, error);
      // Further commands would wait behind this one, and need memory.
      if (messageOf(error).includes('timed out')) this.#redis.disconnect(true);
      throw error;
    }
  }

  #report(answers: boolean, error?: unknown): void {
    if (this.#answers === answers) return;
    this.#answers = answers;
    if (answers) this.#log.info('session storage answers');
    else
      this.#log.warn(
        { reason: reasonOf(error, this.#usesTls) },
        'session storage does not answer, and sessions do not survive their proxy',
      );
  }
}

async function readAuthority(path: string): Promise<string> {
  try {
    const text = await readFile(path, 'utf8');
    checkCertificate(text);
    return text;
  } catch (cause) {
    throw invalid(
      `cannot read the certificate authority of the session storage ${path}: ${messageOf(cause)}`,
      {
        hint: 'mount a file with certificates in PEM format, or correct the path',
        cause,
      },
    );
  }
}

/** Throws for a text without a certificate, which TLS would ignore. */
function checkCertificate(text: string): X509Certificate {
  return new X509Certificate(text);
}

/** The codes of certificates without a known authority. */
const untrusted: ReadonlySet<string | undefined> = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_SIGNATURE_FAILURE',
]);

/** Why the storage does not answer, with the setting to correct if the connection itself fails. */
function reasonOf(error: unknown, usesTls: boolean): string {
  const message = messageOf(error);
  const { code } = error as NodeJS.ErrnoException;
  if (untrusted.has(code))
    return `the certificate of the session storage is not trusted (${message}): set sessionStorage.tls.caRef to the certificate authority that signed the certificate`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `the certificate of the session storage is for another name (${message}): use a name from the certificate in sessionStorage.address`;
  if (code?.startsWith('CERT_') === true)
    return `the certificate of the session storage is invalid: ${message}`;
  const isSilent = ['ETIMEDOUT', 'ECONNRESET', 'EPROTO'].includes(code ?? '') || /clos/i.test(message);
  if (!isSilent) return message;
  return usesTls
    ? `${message}: the storage cannot be reached, or does not speak TLS at this port`
    : `${message}: the storage cannot be reached, or requires TLS (sessionStorage.tls)`;
}
