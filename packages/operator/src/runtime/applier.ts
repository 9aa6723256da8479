import type { KubernetesClient } from '@toolhive/kubernetes/client';
import type { KubernetesObject, ResourceType } from '@toolhive/kubernetes/object';
import { isConflict, isNotFound } from '@toolhive/kubernetes/status';
import { hashOf, projection } from './canonical.ts';
import { keyOf } from './reflector.ts';
import type { Reflector } from './reflector.ts';

/** The owner of the fields that the operator writes. */
const FIELD_MANAGER = 'toolhive-operator';

/** The annotation with the hash of the configuration that was applied last. */
const APPLIED = 'toolhive.stacklok.dev/applied-configuration';

/** No object has this version, so an object that exists is a conflict. */
const ABSENT_VERSION = '1';

/** An object of another owner has the name of a child. */
export class NameClash extends Error {}

/**
 * Writes the children of custom resources by server-side apply. An object whose fields are as wanted is not written,
 * whatever other programs added to the object.
 */
export class Applier {
  readonly #client: KubernetesClient;
  readonly #cacheOf: (type: ResourceType) => Reflector;
  /** The hashes of the wanted fields as the API server spelled them after the last write, such as `1` for `1000m`. */
  readonly #spellings = new Map<string, string>();

  constructor(client: KubernetesClient, cacheOf: (type: ResourceType) => Reflector) {
    this.#client = client;
    this.#cacheOf = cacheOf;
  }

  /** Creates or corrects a child. Returns the stored object. Throws `NameClash` for an object of another owner. */
  async apply<T extends KubernetesObject>(type: ResourceType, wanted: T, signal: AbortSignal): Promise<T> {
    const cache = this.#cacheOf(type);
    const key = keyOf(wanted);
    const owner = wanted.metadata.ownerReferences?.[0]?.uid;
    const cached = cache.get<T>(key);
    const hash = hashOf(wanted);
    const annotated = {
      ...wanted,
      metadata: { ...wanted.metadata, annotations: { ...wanted.metadata.annotations, [APPLIED]: hash } },
    };
    const write = async (resourceVersion?: string): Promise<T> => {
      const object =
        resourceVersion === undefined
          ? annotated
          : { ...annotated, metadata: { ...annotated.metadata, resourceVersion } };
      const options = { fieldManager: FIELD_MANAGER, force: true, signal };
      const stored = await this.#client.apply<T>(type, object, options);
      this.#spellings.set(`${type.kind}:${key}`, `${hash} ${hashOf(projection(stored, wanted))}`);
      cache.observe(stored);
      return stored;
    };
    if (cached === undefined) {
      const created = await write(ABSENT_VERSION).catch((error: unknown) => {
        if (!isConflict(error)) throw error;
      });
      if (created !== undefined) return created;
    }
    // The cache holds labeled objects only, and could not show one of another owner.
    const live = cached ?? (await this.#find<T>(type, wanted, signal));
    if (live !== undefined) {
      const controller = live.metadata.ownerReferences?.find((reference) => reference.controller === true);
      if (controller?.uid !== owner) {
        throw new NameClash(
          `${type.kind} ${wanted.metadata.name} already exists and belongs to ${controller === undefined ? 'no custom resource' : `${controller.kind} ${controller.name}`}`,
        );
      }
      if (live.metadata.deletionTimestamp === undefined && this.#isAsWanted(type, key, live, wanted, hash)) {
        return live;
      }
    }
    return write();
  }

  /** Deletes a child that is no longer wanted. Objects of other owners stay. */
  async remove(
    type: ResourceType,
    name: { name: string; namespace: string },
    owner: string,
    signal: AbortSignal,
  ): Promise<void> {
    const key = keyOf({ metadata: name });
    const cache = this.#cacheOf(type);
    const live = cache.get(key);
    if (live?.metadata.ownerReferences?.some(({ uid }) => uid === owner) !== true) return;
    if (live.metadata.deletionTimestamp !== undefined) return;
    this.#spellings.delete(`${type.kind}:${key}`);
    try {
      await this.#client.delete(type, name, { uid: live.metadata.uid, signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    cache.forget(key);
  }

  #isAsWanted(
    type: ResourceType,
    key: string,
    live: KubernetesObject,
    wanted: object,
    hash: string,
  ): boolean {
    if (live.metadata.annotations?.[APPLIED] !== hash) return false;
    const found = hashOf(projection(live, wanted));
    return found === hash || this.#spellings.get(`${type.kind}:${key}`) === `${hash} ${found}`;
  }

  async #find<T extends KubernetesObject>(
    type: ResourceType,
    { metadata }: KubernetesObject,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    try {
      return await this.#client.get<T>(type, metadata, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}
