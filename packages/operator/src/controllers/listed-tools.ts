import { printable } from '@toolhive/contract/printable';
import type { ApprovedItem } from '@toolhive/contract/tool-pins';
import type { KubernetesClient } from '@toolhive/kubernetes/client';
import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject, OwnerReference } from '@toolhive/kubernetes/object';
import { isConflict, isNotFound } from '@toolhive/kubernetes/status';
import { NameClash } from '../runtime/applier.ts';
import type { Finding } from '../runtime/conditions.ts';
import { keyOf } from '../runtime/reflector.ts';
import type { Reflector } from '../runtime/reflector.ts';
import { differencesOf, parseListed } from '../templates/listed-tools.ts';
import type { PinDifference } from '../templates/listed-tools.ts';
import { namesOf } from '../templates/names.ts';
import { toolPinsHash } from '../templates/objects.ts';
import type { Plan } from '../templates/objects.ts';
import { finding } from './context.ts';

/** How many items a condition names. */
const maxNamed = 5;
const maxName = 60;
/** More servers than one operator has. Otherwise, those of deleted servers would stay. */
const maxRemembered = 20_000;

interface ConfigMap extends KubernetesObject {
  data?: Record<string, string>;
}

type Comparison =
  | {
      listed: number;
      isComplete: boolean;
      differing: number;
      /** The first ones. */
      named: readonly PinDifference[];
    }
  | undefined;

/**
 * The ConfigMaps with the lists that proxies have received from their servers. Their metadata is watched, so a
 * ConfigMap is read only after a change.
 */
export class ListedToolsOfAll {
  readonly #client: KubernetesClient;
  readonly #metadata: Reflector;
  readonly #compared = new Map<string, { version: string; comparison: Comparison }>();

  constructor(client: KubernetesClient, metadata: Reflector) {
    this.#client = client;
    this.#metadata = metadata;
  }

  /** Creates the ConfigMap if pins need it and it is missing. Throws `NameClash` for a ConfigMap of another owner. */
  async keep({ proxied, owner, toolPins }: Plan, signal: AbortSignal): Promise<void> {
    if (toolPins === undefined) return;
    const place = { name: namesOf(proxied.kind, proxied.name).listedTools, namespace: proxied.namespace };
    const known =
      this.#metadata.get(keyOf({ metadata: place })) ?? (await this.#create(place, owner, signal));
    if (!isOwn(known, owner))
      throw new NameClash(
        `ConfigMap ${place.name} already exists and does not belong to ${owner.kind} ${owner.name}`,
      );
  }

  /** Compares the reported lists with the pins. Without pins, removes the ConfigMap. */
  async compare(
    plan: Plan,
    { isRolledOut, signal }: { isRolledOut: boolean; signal: AbortSignal },
  ): Promise<Finding[]> {
    const { proxied, owner, toolPins } = plan;
    const hash = toolPinsHash(plan);
    const place = { name: namesOf(proxied.kind, proxied.name).listedTools, namespace: proxied.namespace };
    const known = this.#metadata.get(keyOf({ metadata: place }));
    if (toolPins === undefined || hash === undefined) {
      if (known !== undefined && isOwn(known, owner)) await this.#remove(known, signal);
      return [];
    }
    const version = `${known?.metadata.uid}/${known?.metadata.resourceVersion}/${hash}/${isRolledOut}`;
    const before = this.#compared.get(owner.uid);
    if (known === undefined) return [findingOf(undefined, plan)];
    if (before?.version === version) return [findingOf(before.comparison, plan)];
    const comparison = await this.#read(place, { hash, toolPins, isRolledOut, signal });
    if (this.#compared.size >= maxRemembered) this.#compared.clear();
    this.#compared.set(owner.uid, { version, comparison });
    return [findingOf(comparison, plan)];
  }

  /** Returns the object, which can be one of another owner that the cache does not show yet. */
  async #create(
    place: { name: string; namespace: string },
    owner: OwnerReference,
    signal: AbortSignal,
  ): Promise<KubernetesObject> {
    const { apiVersion, kind } = types.configMap;
    // Without the operator's label, because other programs may not change labeled objects.
    const metadata = { ...place, ownerReferences: [owner] };
    try {
      return await this.#client.create(types.configMap, { apiVersion, kind, metadata }, signal);
    } catch (error) {
      if (!isConflict(error)) throw error;
      return this.#client.get(types.configMap, place, { signal });
    }
  }

  async #remove({ metadata }: KubernetesObject, signal: AbortSignal): Promise<void> {
    if (metadata.deletionTimestamp !== undefined) return;
    try {
      await this.#client.delete(types.configMap, metadata, { uid: metadata.uid, signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #read(
    place: { name: string; namespace: string },
    {
      hash,
      toolPins,
      isRolledOut,
      signal,
    }: { hash: string; toolPins: readonly ApprovedItem[]; isRolledOut: boolean; signal: AbortSignal },
  ): Promise<Comparison> {
    try {
      const { metadata, data = {} } = await this.#client.get<ConfigMap>(types.configMap, place, { signal });
      const listed = parseListed(data[hash]);
      if (listed === undefined) return undefined;
      if (isRolledOut) await this.#forget(place, { data, hash, metadata }, signal);
      const isListed = listed.items.filter((item) => item.isListed);
      const items = new Set(isListed.map(({ kind, name }) => `${kind} ${name}`));
      const differences = differencesOf(listed.items, toolPins);
      return {
        listed: items.size,
        isComplete: listed.isComplete,
        differing: differences.length,
        named: differences.slice(0, maxNamed),
      };
    } catch (error) {
      if (isNotFound(error)) return undefined; // the deletion leads to another pass
      throw error;
    }
  }

  /** Removes the lists of earlier settings, which the proxies have copied as far as they are useful. */
  async #forget(
    place: { name: string; namespace: string },
    {
      data,
      hash,
      metadata,
    }: { data: Record<string, string>; hash: string; metadata: KubernetesObject['metadata'] },
    signal: AbortSignal,
  ): Promise<void> {
    const old = Object.keys(data).filter((key) => key !== hash);
    if (old.length === 0) return;
    const { resourceVersion } = metadata;
    const removed = Object.fromEntries(old.map((key) => [key, null]));
    try {
      await this.#client.patch(
        types.configMap,
        place,
        { metadata: { resourceVersion }, data: removed },
        signal,
      );
    } catch (error) {
      if (!isConflict(error)) throw error; // changed in the meantime, and another pass follows
    }
  }
}

function isOwn({ metadata }: KubernetesObject, { uid }: OwnerReference): boolean {
  return metadata.ownerReferences?.some((owner) => owner.controller === true && owner.uid === uid) === true;
}

/** The condition. Names come from the server, so they are escaped and cut. */
function findingOf(comparison: Comparison, { proxied, toolPins = [] }: Plan): Finding {
  const { spec, name, namespace } = proxied;
  const review = `To review, run thv cluster pins ${name} --namespace ${namespace}.`;
  if (comparison === undefined)
    return {
      ...finding('ToolsPinned', false, 'NotListed', 'The server has not listed its tools yet.'),
      status: 'Unknown',
    };
  const { listed, differing, named, isComplete } = comparison;
  if (!isComplete)
    return finding(
      'ToolsPinned',
      false,
      'TooManyVersions',
      `The server lists more items or versions than are recorded. ${review}`,
    );
  if (differing === 0)
    return finding('ToolsPinned', true, 'AsPinned', `All ${listed} listed items are as pinned.`);
  const effect =
    spec.toolPins?.mode === 'block' ? 'Clients cannot see or use them.' : 'Clients get them as they are.';
  if (toolPins.length === 0)
    return finding('ToolsPinned', false, 'NothingPinned', `No item is pinned. ${effect} ${review}`);
  const titles = named.map(
    ({ kind, name: item, state }) =>
      `${titleOf(kind, item)} ${state === 'new' ? 'is not pinned' : 'has changed'}`,
  );
  const rest = differing - named.length;
  const more = rest === 0 ? '' : `, and ${rest} more`;
  return finding(
    'ToolsPinned',
    false,
    'Different',
    `${differing} of ${listed} listed items differ from spec.toolPins: ${titles.join(', ')}${more}. ${effect} ${review}`,
  );
}

function titleOf(kind: PinDifference['kind'], name: string): string {
  return kind === 'instructions' ? kind : `${kind} ${JSON.stringify(printable(name).slice(0, maxName))}`;
}
