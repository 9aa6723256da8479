import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { invalid, messageOf } from '@toolhive/contract/failure';

/** The files in a mounted Secret. The first seals. All unseal, so that keys can change while proxies run. */
const names = ['current', 'next', 'previous'] as const;
const keyBytes = 32;
const readingMs = 30_000;

/** The keys that all proxies in front of a server share. The cluster keeps their files up to date. */
export class SessionKeys implements Disposable {
  readonly #timer: NodeJS.Timeout;
  #keys: readonly Uint8Array[];

  private constructor(directory: string, keys: readonly Uint8Array[]) {
    this.#keys = keys;
    this.#timer = setInterval(() => {
      readKeys(directory).then(
        (read) => (this.#keys = read),
        () => {}, // the known keys stay
      );
    }, readingMs).unref();
  }

  /** Throws `invalid` for a directory without a valid key. */
  static async open(directory: string): Promise<SessionKeys> {
    return new SessionKeys(directory, await readKeys(directory));
  }

  readonly keys = (): readonly Uint8Array[] => this.#keys;

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

async function readKeys(directory: string): Promise<Uint8Array[]> {
  const keys: Uint8Array[] = [];
  for (const name of names) {
    const path = join(directory, name);
    const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
      if (name !== 'current' && cause.code === 'ENOENT') return undefined;
      throw invalid(`cannot read session key ${path}: ${messageOf(cause)}`, { cause });
    });
    if (text === undefined) continue;
    const key = Buffer.from(text.trim(), 'base64url');
    if (key.length !== keyBytes)
      throw invalid(`session key ${path} has ${key.length} bytes, expected ${keyBytes}`, {
        hint: `write ${keyBytes} random bytes as base64, such as with openssl rand -base64 ${keyBytes}`,
      });
    keys.push(key);
  }
  return keys;
}
