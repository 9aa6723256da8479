import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject, ResourceType } from '@toolhive/kubernetes/object';
import * as z from 'zod';
import type { Finding } from '../runtime/conditions.ts';
import { isTampered } from '../runtime/managed-fields.ts';
import type { Reflector } from '../runtime/reflector.ts';
import type { ServerSpec } from '../templates/run-config.ts';
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

const Containers = z.array(z.looseObject({ image: z.string().optional() })).optional();
const PodImages = z.looseObject({
  spec: z
    .looseObject({
      containers: Containers,
      initContainers: Containers,
      ephemeralContainers: Containers,
      volumes: z
        .array(z.looseObject({ image: z.looseObject({ reference: z.string().optional() }).optional() }))
        .optional(),
    })
    .optional(),
});

/**
 * The images of a server pod. A pod template can replace the image of the server, and add containers and volumes with other
 * images. Undefined for a template whose images cannot be read.
 */
export function podImages({
  image,
  podTemplateSpec = {},
}: Pick<ServerSpec, 'image' | 'podTemplateSpec'>): string[] | undefined {
  const parsed = PodImages.safeParse(podTemplateSpec);
  if (!parsed.success) return undefined;
  const {
    containers = [],
    initContainers = [],
    ephemeralContainers = [],
    volumes = [],
  } = parsed.data.spec ?? {};
  const others = [
    ...[...containers, ...initContainers, ...ephemeralContainers].map((container) => container.image),
    ...volumes.map((volume) => volume.image?.reference),
  ];
  return [...new Set([image, ...others.filter((other) => other !== undefined)])];
}

/** Checks that an enforcing registry of the namespace contains all images of a server pod. */
export function checkImages(
  context: Context,
  server: CustomResource,
  spec: Pick<ServerSpec, 'image' | 'podTemplateSpec'>,
): Finding {
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
  const used = podImages(spec);
  if (used === undefined)
    return finding(
      'ImageValidated',
      false,
      'ImageValidationError',
      'spec.podTemplateSpec has an image that is not text',
    );
  const image = used.find((each) => !contents.some((images) => images?.has(each) === true));
  if (image === undefined) {
    return finding('ImageValidated', true, 'ImageValidationSuccess', 'A registry contains the image.');
  }
  const names = consulted.map(({ metadata }) => metadata.name).join(', ');
  return contents.includes(undefined)
    ? finding('ImageValidated', false, 'ImageValidationError', `MCPRegistry ${names} is not ready`)
    : finding(
        'ImageValidated',
        false,
        'ImageValidationFailed',
        `image ${image}${image === spec.image ? '' : ' of spec.podTemplateSpec'} is not in MCPRegistry ${names}`,
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
