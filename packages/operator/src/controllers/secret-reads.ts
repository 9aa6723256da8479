import { createHash } from 'node:crypto';
import type { KubernetesClient } from '@toolhive/kubernetes/client';
import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { isNotFound } from '@toolhive/kubernetes/status';

/** Secrets cannot be watched without permission to read all of them, so referenced ones are read again after this time. */
export const SECRET_POLL_MS = 30_000;
/** Resources that refer to one Secret share what was read within this time. */
const SHARED_MS = 25_000;
const maxShared = 10_000;

type Content = Readonly<Record<string, string>>;

/** The referenced Secrets, each of which is read once for all resources that refer to it. */
export class SecretReads {
  readonly #client: KubernetesClient;
  readonly #now: () => Date;
  readonly #shared = new Map<string, { content: Content; atMs: number }>();

  constructor(client: KubernetesClient, now: () => Date) {
    this.#client = client;
    this.#now = now;
  }

  /** Returns the data of a Secret, or undefined if there is none. */
  async read(
    { name, namespace }: { name: string; namespace: string },
    signal: AbortSignal,
  ): Promise<Content | undefined> {
    const key = `${namespace}/${name}`;
    const nowMs = this.#now().getTime();
    const shared = this.#shared.get(key);
    if (shared !== undefined && nowMs - shared.atMs < SHARED_MS) return shared.content;
    this.#shared.delete(key);
    try {
      const found = await this.#client.get<KubernetesObject & { data?: Content }>(
        types.secret,
        { name, namespace },
        { signal },
      );
      const content = found.data ?? {};
      if (this.#shared.size >= maxShared) this.#shared.clear();
      this.#shared.set(key, { content, atMs: nowMs });
      return content;
    } catch (error) {
      if (isNotFound(error)) return undefined; // read again by the next resource
      throw error;
    }
  }
}

/**
 * Identifies a secret value in the annotation of a pod. Anyone who may see pods sees this text, so it is too short to
 * confirm a guess.
 */
export function versionOf(place: string, value: string): string {
  return createHash('sha256').update(`${place}\n${value}`).digest('hex').slice(0, 6);
}
