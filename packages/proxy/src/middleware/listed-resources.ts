/** How many URIs of a server are remembered. */
const maxUris = 10_000;
const maxLength = 4_096;

let lastVersion = 0;

/** The resources and templates that a server has listed. */
export class ListedResources {
  readonly #uris = new Set<string>();
  readonly #shortNames = new Set<string>();
  #version = ++lastVersion;

  constructor(uris: Iterable<string> = []) {
    for (const uri of uris) this.add(uri);
  }

  /** Changes when a resource is added, and differs from that of all other objects. */
  get version(): number {
    return this.#version;
  }

  add(uri: unknown): void {
    if (typeof uri !== 'string' || uri.length > maxLength) return;
    if (this.#uris.size >= maxUris || this.#uris.has(uri)) return;
    this.#uris.add(uri);
    this.#shortNames.add(shortNameOf(uri));
    this.#version = ++lastVersion;
  }

  has(uri: string): boolean {
    return this.#uris.has(uri);
  }

  /** Whether a listed resource has this short name. */
  hasShortName(name: string): boolean {
    return this.#shortNames.has(name);
  }
}

/** Returns the name of a resource in policies of the original: many URIs have the same. */
export function shortNameOf(uri: string): string {
  return uri.replace(/[:/\\?&=# .]/g, '_');
}
