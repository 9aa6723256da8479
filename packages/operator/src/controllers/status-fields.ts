import { messageOf } from '@toolhive/contract/failure';

/** The definitions can be newer after this time, so fields are tried again. */
const RETRY_MS = 10 * 60_000;
const unknownField = /\.status\.([A-Za-z0-9]+)[^:\s]*: field not declared in schema/g;

/**
 * The status fields that the installed definitions do not have. Helm upgrades the operator without its definitions, and
 * the API server refuses a status with an unknown field completely.
 */
export class StatusFields {
  readonly #onUnknown: (kind: string, field: string) => void;
  /** When the fields were refused, by kind and name. */
  readonly #refused = new Map<string, number>();

  constructor(onUnknown: (kind: string, field: string) => void) {
    this.#onUnknown = onUnknown;
  }

  /** The part of a status that the definition has, as far as that is known. */
  known(kind: string, status: Record<string, unknown>): Record<string, unknown> {
    if (this.#refused.size === 0) return status;
    const since = performance.now() - RETRY_MS;
    return Object.fromEntries(
      Object.entries(status).filter(([field]) => !((this.#refused.get(`${kind} ${field}`) ?? since) > since)),
    );
  }

  /** Learns from the refusal of a status. Returns whether another attempt with fewer fields makes sense. */
  learn(kind: string, status: Record<string, unknown>, error: unknown): boolean {
    const names = [...messageOf(error).matchAll(unknownField)].map(([, name = '']) => name);
    const found = names.filter((name) => Object.hasOwn(status, name));
    for (const field of new Set(found)) {
      if (!this.#refused.has(`${kind} ${field}`)) this.#onUnknown(kind, field);
      this.#refused.set(`${kind} ${field}`, performance.now());
    }
    return found.length > 0;
  }
}
