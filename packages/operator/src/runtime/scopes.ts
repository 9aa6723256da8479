/** A namespace, or undefined for all namespaces. */
export type Namespace = string | undefined;

/**
 * The namespaces that the operator works in. A namespace is open once everything in it has been read, because an incomplete
 * copy would look like missing objects. A namespace that cannot be read does not hold up the others.
 */
export class Scopes {
  readonly #kinds: readonly string[];
  readonly #onOpen: (namespace: Namespace) => void;
  readonly #unread: Map<Namespace, Set<string>>;
  readonly #problems: Map<Namespace, Map<string, string>>;
  readonly #tried = Promise.withResolvers<void>();

  constructor(
    namespaces: readonly Namespace[],
    kinds: readonly string[],
    onOpen: (namespace: Namespace) => void,
  ) {
    this.#kinds = kinds;
    this.#onOpen = onOpen;
    this.#unread = new Map(namespaces.map((namespace) => [namespace, new Set(kinds)]));
    this.#problems = new Map(namespaces.map((namespace) => [namespace, new Map<string, string>()]));
  }

  /** Resolves when each namespace has been opened, or could not be read. */
  get tried(): Promise<void> {
    return this.#tried.promise;
  }

  /** Takes note that all objects of a kind are known. */
  read(namespace: Namespace, kind: string): void {
    this.#problems.get(namespace)?.delete(kind);
    const unread = this.#unread.get(namespace);
    if (unread?.delete(kind) === true && unread.size === 0) this.#onOpen(namespace);
    this.#check();
  }

  /** Takes note that a kind cannot be read. */
  failed(namespace: Namespace, kind: string, message: string): void {
    this.#problems.get(namespace)?.set(kind, message);
    this.#check();
  }

  isOpen(namespace: Namespace): boolean {
    const unread = this.#unread.get(this.#unread.has(undefined) ? undefined : namespace);
    return unread?.size === 0;
  }

  /** Whether the operator can work somewhere, and waits for no first answer elsewhere. */
  get isReady(): boolean {
    const namespaces = [...this.#unread.keys()];
    return (
      namespaces.some((namespace) => this.isOpen(namespace)) &&
      namespaces.every((namespace) => this.isOpen(namespace) || this.#hasProblem(namespace))
    );
  }

  /** Each namespace, and why it cannot be read. */
  report(): { namespace: string; isReadable: boolean; problem: string | undefined }[] {
    return [...this.#problems].map(([namespace, problems]) => {
      const waiting = this.#unread.get(namespace)?.size ?? 0;
      const [problem] = problems.values();
      const others = problems.size > 1 ? `, and ${problems.size - 1} other kinds` : '';
      return {
        namespace: namespace ?? '',
        isReadable: waiting === 0 && problems.size === 0,
        problem:
          problem === undefined
            ? waiting === 0
              ? undefined
              : `${this.#kinds.length - waiting} of ${this.#kinds.length} kinds are read`
            : `${problem}${others}`,
      };
    });
  }

  #hasProblem(namespace: Namespace): boolean {
    return (this.#problems.get(namespace)?.size ?? 0) > 0;
  }

  #check(): void {
    const isTried = [...this.#unread.keys()].every(
      (namespace) => this.isOpen(namespace) || this.#hasProblem(namespace),
    );
    if (isTried) this.#tried.resolve();
  }
}
