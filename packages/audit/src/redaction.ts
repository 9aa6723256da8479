/** The replacement for a secret. */
const redacted = '[REDACTED]';

/** Keys whose values are never recorded. */
const secretKey = /pass(word|wd|phrase)|token|secret|keys?$|auth|credential|private|cookie/i;

/** Whether a key or the name of a variable says that its value is secret. */
export function isSecretKey(key: string): boolean {
  return secretKey.test(key);
}

/** How many secrets are remembered. A daemon has a few. */
const maxSecrets = 10_000;
/** Encoded forms that are shorter than this also appear by chance. */
const minEncoded = 6;
/** Shorter secrets are parts of common words. Removed there, they would make records unreadable, and the gaps would spell them. */
const minInWords = 4;
/** How deep bodies are searched. What is deeper is not recorded. */
const maxDepth = 64;

/** The values that must never be recorded, and the removal of them and of everything that looks like one. */
export class Redaction {
  readonly #secrets = new Set<string>();
  #pattern: RegExp | undefined;

  /** Whether there is anything for `withoutSecrets` to remove. */
  get hasSecrets(): boolean {
    return this.#secrets.size > 0;
  }

  /** Adds a value in all the forms in which it may appear. */
  add(secret: string): void {
    if (secret === '' || this.#secrets.has(secret) || this.#secrets.size >= maxSecrets) return;
    this.#secrets.add(secret);
    this.#pattern = undefined;
  }

  /** Returns a JSON value without known secrets, and without the values of keys that name one. */
  clean(value: unknown, depth = 0): unknown {
    if (typeof value === 'string') return this.#text(value);
    if (typeof value === 'number') return this.#text(String(value)) === String(value) ? value : redacted;
    if (typeof value !== 'object' || value === null) return value;
    if (depth > maxDepth) return redacted;
    if (Array.isArray(value)) return value.map((item) => this.clean(item, depth + 1));
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        this.#text(key),
        isSecretKey(key) && !isStructure(item) ? redacted : this.clean(item, depth + 1),
      ]),
    );
  }

  /** Returns a value in which only known secrets are replaced. */
  withoutSecrets<Value>(value: Value): Value {
    if (this.#secrets.size === 0) return value;
    if (typeof value === 'string') return this.#text(value) as Value; // a text stays one
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((item: unknown) => this.withoutSecrets(item)) as Value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, this.withoutSecrets(item as unknown)]),
    ) as Value;
  }

  #text(text: string): string {
    if (this.#secrets.size === 0) return text;
    this.#pattern ??= patternOf(this.#secrets);
    return text.replace(this.#pattern, redacted);
  }
}

/** A key such as `tokens` may also name an object, whose own keys decide. */
function isStructure(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Longer forms first, so that nothing of them remains. */
function patternOf(secrets: ReadonlySet<string>): RegExp {
  const forms = new Set([...secrets].flatMap(formsOf));
  const longestFirst = [...forms].toSorted((a, b) => b.length - a.length);
  return new RegExp(longestFirst.map(expressionOf).join('|'), 'g');
}

function expressionOf(form: string): string {
  const text = RegExp.escape(form);
  return form.length < minInWords ? `(?<![A-Za-z0-9])${text}(?![A-Za-z0-9])` : text;
}

/** A secret as text, inside of JSON texts, in URLs, and as Base64 and hexadecimal digits. */
function formsOf(secret: string): string[] {
  const escaped = inJson(secret);
  const url = encodeURIComponent(secret);
  const hex = Buffer.from(secret).toString('hex');
  const encoded = [
    url,
    url.replaceAll('%20', '+'),
    url.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    hex,
    hex.toUpperCase(),
    ...base64Of(secret),
  ].filter((form) => form.length >= minEncoded);
  return [secret, escaped, inJson(escaped), ...encoded];
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** The three forms of a secret inside other Base64 data. The outer characters depend on the surrounding data. */
function base64Of(secret: string): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]);
    const inner = bytes
      .toString('base64')
      .replace(/=+$/, '')
      .slice(offset === 0 ? 0 : offset + 1);
    const certain = bytes.length % 3 === 0 ? inner : inner.slice(0, -1);
    return [certain, certain.replaceAll('+', '-').replaceAll('/', '_')];
  });
}
