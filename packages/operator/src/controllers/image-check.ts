import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject, ResourceType } from '@toolhive/kubernetes/object';
import * as z from 'zod';
import type { Finding } from '../runtime/conditions.ts';
import { isTampered } from '../runtime/managed-fields.ts';
import type { Reflector } from '../runtime/reflector.ts';
import { besideOf, finding, kinds } from './context.ts';
import type { Context, CustomResource } from './context.ts';

/** The name of the ConfigMap with the content of a registry. */
export function storageOf(registry: string): string {
  return `${registry}-registry-storage`;
}

/** The key in that ConfigMap. */
export const STORAGE_KEY = 'registry.json';

const ONLY = 'toolhive.stacklok.io/registry-name';

const Images = z.looseObject({
  servers: z.record(z.string(), z.looseObject({ image: z.string().optional() })).optional(),
  groups: z
    .array(
      z.looseObject({
        servers: z.record(z.string(), z.looseObject({ image: z.string().optional() })).optional(),
      }),
    )
    .optional(),
});

/** Checks that an enforcing registry of the namespace contains a server's image. */
export function checkImage(context: Context, server: CustomResource, image: string): Finding {
  const only = server.metadata.labels?.[ONLY];
  const enforcing = context
    .cache(kinds.registry)
    .all<CustomResource>()
    .filter(({ metadata }) => metadata.namespace === server.metadata.namespace)
    .filter(({ spec }) => (spec as { enforceServers?: boolean } | undefined)?.enforceServers === true);
  if (enforcing.length === 0) {
    return finding('ImageValidated', true, 'ImageValidationSkipped', 'No registry restricts images.');
  }
  const consulted = enforcing.filter(({ metadata }) => only === undefined || metadata.name === only);
  if (consulted.length === 0) {
    return finding(
      'ImageValidated',
      false,
      'ImageValidationError',
      `label ${ONLY} names ${only}, which is not an enforcing MCPRegistry`,
    );
  }
  const contents = consulted.map((registry) => context.images.of(registry));
  if (contents.some((images) => images?.has(image) === true)) {
    return finding('ImageValidated', true, 'ImageValidationSuccess', 'A registry contains the image.');
  }
  const names = consulted.map(({ metadata }) => metadata.name).join(', ');
  return contents.includes(undefined)
    ? finding('ImageValidated', false, 'ImageValidationError', `MCPRegistry ${names} is not ready`)
    : finding(
        'ImageValidated',
        false,
        'ImageValidationFailed',
        `image ${image} is not in MCPRegistry ${names}`,
      );
}

/**
 * The images of stored registries. A registry can have megabytes and a server has many passes, so each version of a
 * registry is read once.
 */
export class RegistryImages {
  readonly #cacheOf: (type: ResourceType) => Reflector;
  readonly #known = new Map<string, { version: string; images: ReadonlySet<string> | undefined }>();

  constructor(cacheOf: (type: ResourceType) => Reflector) {
    this.#cacheOf = cacheOf;
  }

  /** A registry's images, or undefined if its content is missing or was changed by another program. */
  of(registry: CustomResource): ReadonlySet<string> | undefined {
    const key = besideOf(registry, storageOf(registry.metadata.name));
    const cache = this.#cacheOf(types.configMap);
    const version = cache.version(key);
    if (version === undefined) {
      this.#known.delete(key);
      return undefined;
    }
    const known = this.#known.get(key);
    if (known?.version === version) return known.images;
    const stored = cache.get<StoredRegistry>(key);
    const images = stored === undefined || isTampered(stored) ? undefined : imagesOf(stored);
    this.#known.set(key, { version, images });
    return images;
  }
}

interface StoredRegistry extends KubernetesObject {
  data?: Record<string, string>;
}

function imagesOf({ data }: StoredRegistry): ReadonlySet<string> | undefined {
  const text = data?.[STORAGE_KEY];
  if (text === undefined) return undefined;
  const { servers = {}, groups = [] } = Images.parse(JSON.parse(text)); // written by the operator
  const all = [servers, ...groups.map((group) => group.servers ?? {})].flatMap((entries) =>
    Object.values(entries),
  );
  return new Set(all.flatMap(({ image }) => (image === undefined ? [] : [image])));
}
