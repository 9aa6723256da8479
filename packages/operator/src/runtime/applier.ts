import type { KubernetesClient } from '@toolhive/kubernetes/client';
import type { KubernetesObject, ResourceType } from '@toolhive/kubernetes/object';
import { isConflict, isNotFound, isRefused } from '@toolhive/kubernetes/status';
import { canonicalJson, hashOf } from './canonical.ts';
import { withoutNumbers } from './events.ts';
import {
  FIELD_MANAGER,
  covers,
  describeFields,
  foreignFields,
  ownFields,
  restartAnnotations,
  takenOver,
} from './managed-fields.ts';
import { keyOf } from './reflector.ts';
import type { Reflector } from './reflector.ts';

/** The annotation with the hash of the configuration that was applied last. */
const APPLIED = 'toolhive.stacklok.dev/applied-configuration';

/** The name of objects that are only tried. They are never stored. */
const TRIAL_NAME = 'toolhive-trial';

/** No object has this version, so an object that exists is a conflict. */
const ABSENT_VERSION = '1';

/** So many corrections of the same change follow at once. Later ones wait, because another program repeats its change. */
const PROMPT_CORRECTIONS = 20;
const FIRST_WAIT_MS = 1_000;
const LAST_WAIT_MS = 5 * 60_000;
/** A change that was not repeated for this time is not in dispute. */
const PEACE_MS = 10 * 60_000;
const MAX_REMEMBERED = 5_000;
/** The programs that change an object at the same time can win so often. */
const MAX_ATTEMPTS = 5;

/** An object of another owner has the name of a child. */
export class NameClash extends Error {}

/** Another program repeats its change after each correction. */
export class Dispute extends Error {
  readonly againAfterMs: number;

  constructor(message: string, againAfterMs: number) {
    super(message);
    this.againAfterMs = againAfterMs;
  }
}

/** A change of another program that was reverted. */
export interface Correction {
  object: KubernetesObject;
  /** The programs that had changed the object, by the names of their field managers. */
  managers: readonly string[];
  /** The changed fields. */
  fields: string;
}

export interface ApplierObserver {
  /** Reports a correction. Never rejects. */
  onCorrection: (correction: Correction, signal: AbortSignal) => Promise<void>;
  /** Told once before each wait. */
  onDispute: (kind: string) => void;
}

/**
 * Writes the children of custom resources by server-side apply. The API server records who set each field, so a foreign
 * addition is found without knowledge of defaults, and an object that is as wanted is not written.
 */
export class Applier {
  readonly #client: KubernetesClient;
  readonly #cacheOf: (type: ResourceType) => Reflector;
  readonly #observer: ApplierObserver;
  /** What the API server recorded where it dropped wanted fields, such as those of a disabled feature. */
  readonly #incomplete = new Map<string, string>();
  readonly #corrections = new Map<string, { count: number; at: number; isTold: boolean }>();

  constructor(
    client: KubernetesClient,
    cacheOf: (type: ResourceType) => Reflector,
    observer: ApplierObserver,
  ) {
    this.#client = client;
    this.#cacheOf = cacheOf;
    this.#observer = observer;
  }

  /**
   * Creates or corrects a child. Returns the stored object. Throws `NameClash` for an object of another owner, and `Dispute`
   * if another program repeats its change.
   */
  async apply<T extends KubernetesObject>(type: ResourceType, wanted: T, signal: AbortSignal): Promise<T> {
    const cached = this.#cacheOf(type).get<T>(keyOf(wanted));
    const hash = hashOf(wanted);
    const annotations = { ...wanted.metadata.annotations, [APPLIED]: hash };
    const change: Change<T> = {
      type,
      wanted: { ...wanted, metadata: { ...wanted.metadata, annotations } },
      hash,
      signal,
    };
    if (cached === undefined) {
      const created = await this.#create(change);
      if (created !== undefined) return created;
    }
    // The cache holds labeled objects only, and could not show one of another owner.
    const live = cached ?? (await this.#find<T>(type, wanted, signal));
    if (live === undefined) return this.#write(change);
    const owner = wanted.metadata.ownerReferences?.[0]?.uid;
    const controller = live.metadata.ownerReferences?.find((reference) => reference.controller === true);
    const isOrphan = controller === undefined && isOwnWork(live, wanted);
    if (controller?.uid !== owner && !isOrphan) {
      throw new NameClash(
        `${type.kind} ${wanted.metadata.name} already exists and belongs to ${controller === undefined ? 'no custom resource' : `${controller.kind} ${controller.name}`}`,
      );
    }
    if (live.metadata.deletionTimestamp === undefined && this.#isAsWanted(type, change.wanted, hash, live))
      return live;
    return this.#correct(change, live);
  }

  /** Whether the cached object is as wanted, including what other programs may not change. */
  isAsWanted(type: ResourceType, wanted: KubernetesObject): boolean {
    const live = this.#cacheOf(type).get(keyOf(wanted));
    return live !== undefined && this.#isAsWanted(type, wanted, hashOf(wanted), live);
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
    this.#incomplete.delete(`${type.kind}:${key}`);
    try {
      await this.#client.delete(type, name, { uid: live.metadata.uid, signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    cache.forget(key);
  }

  #isAsWanted(type: ResourceType, wanted: KubernetesObject, hash: string, live: KubernetesObject): boolean {
    if (live.metadata.annotations?.[APPLIED] !== hash || foreignFields(live) !== undefined) return false;
    if (covers(ownFields(live), comparable(wanted))) return true;
    return this.#incomplete.get(`${type.kind}:${keyOf(live)}`) === recordOf(hash, live);
  }

  /** Creates a child. Returns undefined if an object has the name. */
  async #create<T extends KubernetesObject>(change: Change<T>): Promise<T | undefined> {
    try {
      return await this.#write(change, ABSENT_VERSION);
    } catch (error) {
      if (isConflict(error)) return undefined;
      throw error;
    }
  }

  async #correct<T extends KubernetesObject>(change: Change<T>, live: T): Promise<T> {
    const foreign = foreignFields(live);
    const correction = foreign && {
      object: live,
      managers: foreign.managers,
      fields: describeFields(foreign.fields),
    };
    if (correction !== undefined) this.#checkDispute(correction);
    let stored = await this.#writeOrReplace(change, live);
    // An apply corrects values and lists that are one value, but keeps additions to others.
    if (foreignFields(stored) !== undefined) {
      await this.#takeOver(change);
      stored = await this.#writeOrReplace(change, live);
    }
    if (correction !== undefined) await this.#observer.onCorrection(correction, change.signal);
    return stored;
  }

  async #writeOrReplace<T extends KubernetesObject>(change: Change<T>, live: T): Promise<T> {
    // Without any record, an apply would keep every addition.
    if (ownFields(live) === undefined && foreignFields(live) === undefined)
      return this.#replace(change, live, undefined);
    try {
      return await this.#write(change);
    } catch (error) {
      if (!isRefused(error)) throw error;
      return this.#replace(change, live, error);
    }
  }

  async #write<T extends KubernetesObject>(
    { type, wanted, hash, signal }: Change<T>,
    resourceVersion?: string,
  ): Promise<T> {
    const object =
      resourceVersion === undefined
        ? wanted
        : { ...wanted, metadata: { ...wanted.metadata, resourceVersion } };
    const options = { fieldManager: FIELD_MANAGER, force: true, signal };
    const stored = await this.#client.apply<T>(type, object, options);
    const place = `${type.kind}:${keyOf(stored)}`;
    if (covers(ownFields(stored), comparable(wanted))) this.#incomplete.delete(place);
    else this.#incomplete.set(place, recordOf(hash, stored));
    this.#cacheOf(type).observe(stored);
    return stored;
  }

  /** Becomes the owner of all foreign fields, so that the next apply removes them. */
  async #takeOver<T extends KubernetesObject>({ type, wanted, signal }: Change<T>): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const live = await this.#client.get(type, wanted.metadata, { signal });
      const { resourceVersion } = live.metadata;
      const managedFields = takenOver({ ...live, kind: type.kind, apiVersion: type.apiVersion });
      try {
        await this.#client.patch(
          type,
          wanted.metadata,
          { metadata: { resourceVersion, managedFields } },
          signal,
        );
        return;
      } catch (error) {
        if (!isConflict(error) || attempt === MAX_ATTEMPTS) throw error; // changed again in the meantime
      }
    }
  }

  /**
   * Changes a child for which an apply is not enough. An apply keeps the defaults that the API server set for the former
   * configuration, and a new configuration can forbid them. If the object cannot change in place although it could be
   * created, because a field is immutable, a new object takes its place.
   */
  async #replace<T extends KubernetesObject>(change: Change<T>, live: T, refusal: unknown): Promise<T> {
    const { type, wanted, signal } = change;
    const stored = await this.#client.get<T>(type, wanted.metadata, { signal });
    if (stored.metadata.uid !== live.metadata.uid)
      throw refusal ?? new Error(`${type.kind} ${wanted.metadata.name} was replaced`);
    try {
      await this.#client.replace(type, withForeignParts(wanted, stored), signal);
    } catch (error) {
      if (!isRefused(error) || !(await this.#canCreate(change))) throw refusal ?? error;
      await this.#client.delete(type, wanted.metadata, { uid: live.metadata.uid, signal });
      this.#cacheOf(type).forget(keyOf(wanted));
      await this.#observer.onCorrection({ object: live, managers: [], fields: 'immutable fields' }, signal);
      const created = await this.#create(change);
      if (created === undefined) throw refusal ?? error; // a finalizer holds the old object, whose end leads to a pass
      return created;
    }
    return this.#write(change);
  }

  /** Whether the API server accepts the wanted configuration for an object that does not exist yet. */
  async #canCreate<T extends KubernetesObject>({ type, wanted, signal }: Change<T>): Promise<boolean> {
    const trial: KubernetesObject = { ...wanted, metadata: { ...wanted.metadata, name: TRIAL_NAME } };
    try {
      await this.#client.create(type, trial, signal, { isTrial: true });
      return true;
    } catch (error) {
      if (isRefused(error)) return false;
      throw error;
    }
  }

  /** Throws `Dispute` if the same change was reverted often and recently. */
  #checkDispute({ object, managers, fields }: Correction): void {
    // A program repeats the same change. People make different ones.
    const { metadata: _metadata, ...content } = object;
    const place = `${object.kind}:${keyOf(object)} ${hashOf(withoutNumbers(canonicalJson(content)))}`;
    const now = performance.now();
    const known = this.#corrections.get(place) ?? { count: 0, at: 0, isTold: false };
    const { count, at } = known;
    const isCalm = count === 0 || now - at > PEACE_MS;
    const waitMs = Math.min(FIRST_WAIT_MS * 2 ** (count - PROMPT_CORRECTIONS), LAST_WAIT_MS);
    if (!isCalm && count >= PROMPT_CORRECTIONS && now - at < waitMs) {
      if (!known.isTold) this.#observer.onDispute(object.kind);
      known.isTold = true;
      throw new Dispute(
        `${managers.join(', ')} repeatedly changes ${fields} of ${object.kind} ${object.metadata.name}. The change was reverted ${count} times`,
        waitMs - (now - at),
      );
    }
    this.#corrections.delete(place);
    this.#corrections.set(place, { count: isCalm ? 1 : count + 1, at: now, isTold: false });
    const [oldest] = this.#corrections.keys();
    if (this.#corrections.size > MAX_REMEMBERED && oldest !== undefined) this.#corrections.delete(oldest);
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

interface Change<T extends KubernetesObject> {
  type: ResourceType;
  /** The wanted object with the annotation about its configuration. */
  wanted: T;
  hash: string;
  signal: AbortSignal;
}

/** The part of an object that records of fields tell of. */
function comparable(wanted: KubernetesObject): object {
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...content } = wanted;
  const { name: _name, namespace: _namespace, ...rest } = metadata;
  return { ...content, metadata: rest };
}

/** Whether the operator created an object for the same resource, although the object has lost its owner. */
function isOwnWork({ metadata }: KubernetesObject, wanted: KubernetesObject): boolean {
  const { labels = {}, annotations = {} } = metadata;
  const isLabeled = Object.entries(wanted.metadata.labels ?? {}).every(
    ([name, value]) => labels[name] === value,
  );
  return isLabeled && annotations[APPLIED] !== undefined;
}

function recordOf(hash: string, live: KubernetesObject): string {
  return `${hash} ${hashOf(ownFields(live))}`;
}

interface WithTemplate {
  spec?: {
    replicas?: number;
    template?: { metadata?: { annotations?: Record<string, string> } };
  };
  secrets?: unknown;
  imagePullSecrets?: unknown;
}

/** A wanted object with the parts of the stored one that other programs may set. */
function withForeignParts<T extends KubernetesObject>(wanted: T, stored: T): T {
  const { resourceVersion, uid, labels, annotations, finalizers = [] } = stored.metadata;
  const metadata = {
    ...wanted.metadata,
    resourceVersion,
    uid,
    finalizers,
    labels: { ...labels, ...wanted.metadata.labels },
    annotations: { ...annotations, ...wanted.metadata.annotations },
  };
  const { spec: live, secrets, imagePullSecrets } = stored as WithTemplate;
  const { spec } = wanted as WithTemplate;
  const accounts = stored.kind === 'ServiceAccount' ? { secrets, imagePullSecrets } : {};
  if (spec?.template === undefined) return { ...accounts, ...wanted, metadata };
  const known = live?.template?.metadata?.annotations ?? {};
  const restarts = Object.fromEntries(
    Object.entries(known).filter(([name]) => restartAnnotations.includes(name)),
  );
  const { metadata: pod } = spec.template;
  return {
    ...wanted,
    metadata,
    spec: {
      ...(live?.replicas === undefined ? {} : { replicas: live.replicas }),
      ...spec,
      template: { ...spec.template, metadata: { ...pod, annotations: { ...restarts, ...pod?.annotations } } },
    },
  };
}
