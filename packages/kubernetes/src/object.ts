import { ApiStatus } from './status.ts';

/** The metadata of an object, as far as ToolHive reads or writes it. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  managedFields?: ManagedFields[];
}

/**
 * The fields that a program has set, as a tree. A step is `f:` with a name, `k:` with the key of an item, `v:` with a value,
 * or `.` for the field itself.
 */
export interface FieldTree {
  [step: string]: FieldTree;
}

/** The record of one program that has changed an object. */
export interface ManagedFields {
  manager?: string;
  operation?: string;
  apiVersion?: string;
  time?: string;
  fieldsType?: string;
  fieldsV1?: FieldTree;
  subresource?: string;
}

/** The owner of an object. The garbage collector deletes an object together with its last owner. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** Any object of the Kubernetes API. */
export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

/** A kind of objects, as the API server addresses the kind. */
export interface ResourceType {
  /** The group and version, such as `apps/v1`, or `v1` for the core group. */
  apiVersion: string;
  kind: string;
  plural: string;
  /** Whether objects exist outside of namespaces. */
  isClusterScoped?: boolean;
}

const type = (apiVersion: string, kind: string, plural: string): ResourceType => ({
  apiVersion,
  kind,
  plural,
});

/** The built-in kinds that ToolHive uses. */
export const types = {
  configMap: type('v1', 'ConfigMap', 'configmaps'),
  deployment: type('apps/v1', 'Deployment', 'deployments'),
  event: type('events.k8s.io/v1', 'Event', 'events'),
  lease: type('coordination.k8s.io/v1', 'Lease', 'leases'),
  namespace: { ...type('v1', 'Namespace', 'namespaces'), isClusterScoped: true },
  networkPolicy: type('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies'),
  persistentVolumeClaim: type('v1', 'PersistentVolumeClaim', 'persistentvolumeclaims'),
  pod: type('v1', 'Pod', 'pods'),
  role: type('rbac.authorization.k8s.io/v1', 'Role', 'roles'),
  roleBinding: type('rbac.authorization.k8s.io/v1', 'RoleBinding', 'rolebindings'),
  secret: type('v1', 'Secret', 'secrets'),
  service: type('v1', 'Service', 'services'),
  serviceAccount: type('v1', 'ServiceAccount', 'serviceaccounts'),
  statefulSet: type('apps/v1', 'StatefulSet', 'statefulsets'),
} satisfies Record<string, ResourceType>;

/** The path of all objects of a kind, or of one namespace. */
export function collectionPath(
  { apiVersion, plural, isClusterScoped }: ResourceType,
  namespace?: string,
): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const scope =
    isClusterScoped === true || namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}${scope}/${plural}`;
}

/** Names that no object can have. In a path, some of them would address something else, such as all objects. */
function cannotExist(name: string): boolean {
  return /^\.{0,2}$|[/%]|[^!-~]/.test(name) || name.length > 253;
}

/**
 * The path of one object, or of a subresource such as `status` or `log`. Throws `ApiStatus` with code 404 for a name that
 * no object can have.
 */
export function objectPath(
  resource: ResourceType,
  { name, namespace }: { name: string; namespace?: string | undefined },
  subresource?: string,
): string {
  if (cannotExist(name)) {
    throw new ApiStatus(
      404,
      'NotFound',
      `${resource.plural} ${JSON.stringify(name)} not found: invalid name`,
    );
  }
  const path = `${collectionPath(resource, namespace)}/${encodeURIComponent(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}
