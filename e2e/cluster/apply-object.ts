import type { KubernetesObject, ObjectMeta } from '@toolhive/kubernetes/object';
import { isConflict, isNotFound } from '@toolhive/kubernetes/status';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { typeOf } from './object-kinds.ts';

/**
 * Creates an object, or replaces the parts that a manifest has, in a namespace unless the manifest names its own. Unlike
 * kubectl, keeps no record of the last manifest, so other parts stay.
 */
export async function applyObject(
  { client, kubectl }: Pick<ControlPlane, 'client' | 'kubectl'>,
  namespace: string,
  object: KubernetesObject,
): Promise<void> {
  const type = typeOf(object);
  if (type === undefined) {
    await kubectl(['apply', '-n', namespace, '-f', '-'], JSON.stringify(object));
    return;
  }
  const { metadata, ...content } = object;
  const place = type.isClusterScoped === true ? {} : { namespace };
  const placed = { ...content, metadata: { ...place, ...metadata } };
  const put = async (): Promise<void> => {
    const live = await client.get(type, placed.metadata).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    if (live === undefined) await client.apply(type, placed, { fieldManager: 'test' });
    else await client.replace(type, { ...live, ...content, metadata: merged(live.metadata, metadata) });
  };
  await put().catch((error: unknown) => {
    if (isConflict(error)) return applyObject({ client, kubectl }, namespace, object);
    throw error;
  });
}

function merged(live: ObjectMeta, { labels, annotations }: ObjectMeta): ObjectMeta {
  return {
    ...live,
    labels: { ...live.labels, ...labels },
    annotations: { ...live.annotations, ...annotations },
  };
}
