/** A rule of a Role or a ClusterRole. */
export interface PolicyRule {
  apiGroups: readonly string[];
  resources: readonly string[];
  verbs: readonly string[];
}

const group = 'toolhive.stacklok.dev';
const read = ['get', 'list', 'watch'] as const;
const write = [...read, 'create', 'update', 'patch', 'delete'] as const;
const kinds = [
  'mcpservers',
  'mcptoolconfigs',
  'mcpexternalauthconfigs',
  'mcpregistries',
  'mcpgroups',
  'mcpremoteproxies',
] as const;

/**
 * The permissions of the operator. A role that the operator creates can only grant permissions that the operator has, so
 * the permissions of stdio proxies (pods and pods/attach) are in this list.
 */
export const managerRules: readonly PolicyRule[] = [
  { apiGroups: [group], resources: kinds, verbs: [...read, 'update', 'patch'] },
  { apiGroups: [group], resources: kinds.map((kind) => `${kind}/status`), verbs: ['get', 'update', 'patch'] },
  { apiGroups: [group], resources: kinds.map((kind) => `${kind}/finalizers`), verbs: ['update'] },
  { apiGroups: [''], resources: ['configmaps', 'services', 'serviceaccounts'], verbs: write },
  { apiGroups: [''], resources: ['pods'], verbs: [...read, 'delete'] },
  { apiGroups: [''], resources: ['pods/attach'], verbs: ['create', 'get'] },
  // By name only. The operator writes the keys for session IDs.
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create', 'update'] },
  { apiGroups: ['apps'], resources: ['deployments', 'statefulsets'], verbs: write },
  { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: write },
  { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles', 'rolebindings'], verbs: write },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch', 'list'] },
];

/** The permissions of the operator in its own namespace, for the election of a leader. */
export const leaderElectionRules: readonly PolicyRule[] = [
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update', 'patch'] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
];

/** The permissions of the registry API servers. */
export const registryApiRules: readonly PolicyRule[] = [
  { apiGroups: [group], resources: ['mcpservers'], verbs: read },
];
