import type { KubernetesClient } from '@toolhive/kubernetes/client';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { typeNamed } from './object-kinds.ts';

/** What a service account wants to do. */
export interface Wish {
  /** The namespace of the objects, unless their kind exists outside of namespaces. */
  in: string;
  verb: string;
  /** A kind such as `pods`, or an object such as `configmap/profiles`. */
  object: string;
  subresource?: string;
}

interface Review extends KubernetesObject {
  spec: object;
  status?: { allowed: boolean };
}

const type = {
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SubjectAccessReview',
  plural: 'subjectaccessreviews',
  isClusterScoped: true,
};

/** Whether the API server allows something to a service account, as `kubectl auth can-i --as` tells, without a start of kubectl. */
export async function may(
  client: KubernetesClient,
  account: { namespace: string; name: string },
  { in: namespace, verb, object, subresource }: Wish,
): Promise<boolean> {
  const [kind = '', name] = object.split('/');
  const found = typeNamed(kind);
  if (found === undefined) throw new Error(`unknown kind ${kind}`); // nothing would be allowed
  const place = found.isClusterScoped === true ? {} : { namespace };
  const [group] = found.apiVersion.includes('/') ? found.apiVersion.split('/') : [''];
  const { status } = await client.create<Review>(type, {
    apiVersion: type.apiVersion,
    kind: type.kind,
    metadata: { name: '' },
    spec: {
      user: `system:serviceaccount:${account.namespace}:${account.name}`,
      groups: [
        'system:serviceaccounts',
        `system:serviceaccounts:${account.namespace}`,
        'system:authenticated',
      ],
      resourceAttributes: { ...place, verb, group, resource: found.plural, name, subresource },
    },
  });
  if (status === undefined) throw new Error('the API server did not answer');
  return status.allowed;
}
