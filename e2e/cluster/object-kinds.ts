import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject, ResourceType } from '@toolhive/kubernetes/object';
import { resources } from '@toolhive/operator/crds';
import { apiGroup, apiVersion } from '@toolhive/operator/resource';

const admission = { apiVersion: 'admissionregistration.k8s.io/v1', isClusterScoped: true };
const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1', isClusterScoped: true };

/** The kinds that only tests use. */
export const testTypes = {
  clusterRole: { ...rbac, kind: 'ClusterRole', plural: 'clusterroles' },
  clusterRoleBinding: { ...rbac, kind: 'ClusterRoleBinding', plural: 'clusterrolebindings' },
  resourceQuota: { apiVersion: 'v1', kind: 'ResourceQuota', plural: 'resourcequotas' },
  podDisruptionBudget: {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    plural: 'poddisruptionbudgets',
  },
  horizontalPodAutoscaler: {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    plural: 'horizontalpodautoscalers',
  },
  mutatingPolicy: { ...admission, kind: 'MutatingAdmissionPolicy', plural: 'mutatingadmissionpolicies' },
  mutatingPolicyBinding: {
    ...admission,
    kind: 'MutatingAdmissionPolicyBinding',
    plural: 'mutatingadmissionpolicybindings',
  },
  validatingWebhook: {
    ...admission,
    kind: 'ValidatingWebhookConfiguration',
    plural: 'validatingwebhookconfigurations',
  },
} satisfies Record<string, ResourceType>;

const all: readonly ResourceType[] = [
  ...Object.values(types),
  ...Object.values(testTypes),
  ...resources.map(({ kind, plural }) => ({ kind, plural, apiVersion: `${apiGroup}/${apiVersion}` })),
];

const byName = new Map(
  all.flatMap((type) => [
    [type.plural, type],
    [type.kind.toLowerCase(), type],
  ]),
);
const byKind = new Map(all.map((type) => [`${type.apiVersion} ${type.kind}`, type]));

/**
 * The kind with a name that kubectl knows, such as `pods`, `Pod`, or `deployments.v1.apps`, but no short name. Undefined
 * for a kind that only kubectl knows.
 */
export function typeNamed(name: string): ResourceType | undefined {
  const [plural = '', version, ...group] = name.toLowerCase().split('.');
  const type = byName.get(plural);
  const isOther = version !== undefined && type?.apiVersion !== `${group.join('.')}/${version}`;
  return isOther ? undefined : type;
}

/** The kind of an object. Undefined for a kind that only kubectl knows. */
export function typeOf({ apiVersion: version, kind }: KubernetesObject): ResourceType | undefined {
  return byKind.get(`${version} ${kind}`);
}
