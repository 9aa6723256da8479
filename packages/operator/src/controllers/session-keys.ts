import { randomBytes } from 'node:crypto';
import type { KubernetesClient } from '@toolhive/kubernetes/client';
import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject, OwnerReference } from '@toolhive/kubernetes/object';
import { isConflict, isNotFound } from '@toolhive/kubernetes/status';
import { NameClash } from '../runtime/applier.ts';
import { managed } from '../templates/names.ts';

/** How often the Secret of a server is looked at. With thousands of servers, these are most requests of an idle operator. */
export const KEY_CHECK_MS = 12 * 60 * 60_000;
/** The same while pods of the server do not become ready, which cannot start without the Secret. */
const WAITING_CHECK_MS = 2_000;
/** How long a key seals. It unseals for as long again. */
const ROTATION_MS = 30 * 24 * 60 * 60_000;
/** More servers than one operator has. Otherwise, the owners of deleted servers would stay. */
const maxChecked = 20_000;
const ROTATED = 'toolhive.stacklok.dev/rotated-at';

interface Secret extends KubernetesObject {
  type?: string;
  data?: Record<string, string>;
}

/**
 * The Secrets with the keys for session IDs, which all its proxies share. A key is known to all proxies as `next`
 * before the first one seals with it, because their files change at different times.
 */
export class SessionKeyring {
  readonly #client: KubernetesClient;
  readonly #now: () => Date;
  /** When the Secrets were looked at, by their owners. */
  readonly #checked = new Map<string, number>();

  constructor(client: KubernetesClient, now: () => Date) {
    this.#client = client;
    this.#now = now;
  }

  /**
   * Creates the Secret, and changes its keys when they are old. Secrets are not watched, so a deleted one is noticed when a
   * pod waits. Throws `NameClash` for a Secret of another owner.
   */
  async keep(
    name: { name: string; namespace: string },
    owner: OwnerReference,
    { isWaiting, signal }: { isWaiting: boolean; signal: AbortSignal },
  ): Promise<void> {
    const nowMs = this.#now().getTime();
    const intervalMs = isWaiting ? WAITING_CHECK_MS : KEY_CHECK_MS;
    if (nowMs - (this.#checked.get(owner.uid) ?? Number.NEGATIVE_INFINITY) < intervalMs) return;
    const found = await this.#find(name, signal);
    if (found === undefined) await this.#create(name, owner, signal);
    else await this.#rotate(found, owner, signal);
    if (this.#checked.size >= maxChecked) this.#checked.clear();
    this.#checked.set(owner.uid, nowMs);
  }

  async #find(name: { name: string; namespace: string }, signal: AbortSignal): Promise<Secret | undefined> {
    try {
      return await this.#client.get<Secret>(types.secret, name, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #create(
    name: { name: string; namespace: string },
    owner: OwnerReference,
    signal: AbortSignal,
  ): Promise<void> {
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        ...name,
        labels: managed,
        annotations: { [ROTATED]: this.#now().toISOString() },
        ownerReferences: [owner],
      },
      type: 'Opaque',
      data: { current: newKey(), next: newKey() },
    };
    await this.#client.create<Secret>(types.secret, secret, signal);
  }

  async #rotate(secret: Secret, owner: OwnerReference, signal: AbortSignal): Promise<void> {
    const { metadata, data = {} } = secret;
    const controller = metadata.ownerReferences?.find((reference) => reference.controller === true);
    if (controller?.uid !== owner.uid)
      throw new NameClash(
        `Secret ${metadata.name} already exists and belongs to ${controller === undefined ? 'no custom resource' : `${controller.kind} ${controller.name}`}`,
      );
    const { current, next } = data;
    const isComplete = isKey(current) && isKey(next);
    const rotatedMs = Date.parse(metadata.annotations?.[ROTATED] ?? '');
    if (isComplete && this.#now().getTime() - rotatedMs < ROTATION_MS) return;
    const keys = isComplete
      ? { previous: current, current: next, next: newKey() }
      : { current: newKey(), next: newKey() };
    const annotations = { ...metadata.annotations, [ROTATED]: this.#now().toISOString() };
    try {
      await this.#client.replace(
        types.secret,
        { ...secret, metadata: { ...metadata, annotations }, data: keys },
        signal,
      );
    } catch (error) {
      if (!isConflict(error)) throw error; // another program changed the Secret, and a later check follows
    }
  }
}

/** A key as the data of a Secret: base64 of the text that the proxy reads. */
function newKey(): string {
  return Buffer.from(randomBytes(32).toString('base64url')).toString('base64');
}

function isKey(data: string | undefined): data is string {
  return data !== undefined && Buffer.from(Buffer.from(data, 'base64').toString(), 'base64url').length === 32;
}
