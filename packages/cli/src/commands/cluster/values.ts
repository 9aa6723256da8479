/** How a value of the original chart is used. */
export interface ValueRule {
  /** The path in the values, with dots. */
  path: string;
  /** Keeps the value if this holds. By default, a value is kept unless it is left out. */
  keeps?: (value: unknown) => boolean;
  /** Leaves the value out if this holds, because this operator needs no such value. */
  drops?: (value: unknown) => boolean;
  /** Why the value is left out or refused. */
  reason?: string;
}

const never = (): boolean => false;
const always = (): boolean => true;
const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0);
const isImage =
  (name: string) =>
  (value: unknown): boolean =>
    isEmpty(value) || new RegExp(`^ghcr\\.io/stacklok/(toolhive/)?${name}([:@].*)?$`).test(String(value));

/** The memory that the chart of this operator sets as the limit. */
const neededMebibytes = 768;

/** Reads a quantity of Kubernetes in MiB. `NaN` for anything else. */
function mebibytesOf(value: unknown): number {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)([KMGT]i?|k)?$/.exec(String(value)) ?? [];
  const factors: Record<string, number> = {
    '': 1,
    k: 1e3,
    K: 1e3,
    M: 1e6,
    G: 1e9,
    T: 1e12,
    Ki: 2 ** 10,
    Mi: 2 ** 20,
    Gi: 2 ** 30,
    Ti: 2 ** 40,
  };
  return (Number(amount) * (factors[unit] ?? Number.NaN)) / 2 ** 20;
}

const same = (...paths: string[]): ValueRule[] => paths.map((path) => ({ path }));
const mirrored =
  'the image is not in the registry of the original: copy the image of this version there, and set';

/** All values of the chart `toolhive-operator` 0.3.0 of the original. */
export const valueRules: readonly ValueRule[] = [
  ...same(
    'nameOverride',
    'fullnameOverride',
    'operator.replicaCount',
    'operator.imagePullPolicy',
    'operator.imagePullSecrets',
    'operator.proxyHost',
    'operator.env',
    'operator.ports',
    'operator.podAnnotations',
    'operator.podLabels',
    'operator.volumes',
    'operator.volumeMounts',
    'operator.nodeSelector',
    'operator.tolerations',
    'operator.affinity',
    'operator.podSecurityContext',
    'operator.containerSecurityContext',
    'operator.livenessProbe',
    'operator.readinessProbe',
    'operator.resources.requests',
    'operator.resources.limits.cpu',
    'operator.rbac.scope',
    'operator.serviceAccount.create',
    'operator.serviceAccount.name',
    'operator.serviceAccount.annotations',
    'operator.leaderElectionRole.name',
    'registryAPI.serviceAccount.create',
    'registryAPI.serviceAccount.name',
  ),
  {
    path: 'operator.image',
    keeps: never,
    drops: isImage('operator'),
    reason: `${mirrored} operator.image yourself`,
  },
  {
    path: 'operator.toolhiveRunnerImage',
    keeps: never,
    drops: isImage('proxyrunner'),
    reason: `${mirrored} operator.toolhiveRunnerImage yourself`,
  },
  {
    path: 'registryAPI.image',
    keeps: never,
    drops: isImage('thv-registry-api'),
    reason: `${mirrored} registryAPI.image yourself`,
  },
  {
    path: 'operator.features.experimental',
    keeps: never,
    drops: (value) => value !== true,
    reason: 'this operator has no experimental features',
  },
  {
    path: 'operator.autoscaling',
    keeps: never,
    drops: (value) => (value as { enabled?: unknown } | null)?.enabled !== true,
    reason:
      'only one pod of the operator works at a time: set operator.replicaCount to 2 for a quick handover',
  },
  {
    path: 'operator.resources.limits.memory',
    keeps: (value) => mebibytesOf(value) >= neededMebibytes,
    drops: always,
    reason: `the chart sets ${neededMebibytes}Mi, which this operator needs`,
  },
  {
    path: 'operator.rbac.allowedNamespaces',
    drops: isEmpty,
    reason: 'the list is empty',
  },
  {
    path: 'operator.serviceAccount.automountServiceAccountToken',
    keeps: never,
    drops: (value) => value !== false,
    reason: 'the operator needs its token',
  },
  {
    path: 'operator.serviceAccount.labels',
    keeps: never,
    drops: isEmpty,
    reason: 'the chart sets the labels of its service account',
  },
  {
    path: 'operator.leaderElectionRole.binding',
    keeps: never,
    drops: always,
    reason: 'the binding has the name of its role',
  },
  {
    path: 'operator.leaderElectionRole.rules',
    keeps: never,
    drops: always,
    reason: 'the chart contains the rules that this operator needs',
  },
  {
    path: 'registryAPI.serviceAccount.automountServiceAccountToken',
    keeps: never,
    drops: always,
    reason: 'the chart decides about the token',
  },
  {
    path: 'registryAPI.serviceAccount.annotations',
    keeps: never,
    drops: isEmpty,
    reason: 'the chart sets no annotations of this service account',
  },
  {
    path: 'registryAPI.serviceAccount.labels',
    keeps: never,
    drops: isEmpty,
    reason: 'the chart sets the labels of this service account',
  },
];

/** A value that does not appear in the result. */
interface Left {
  path: string;
  reason: string;
}

export interface Translation {
  values: Record<string, unknown>;
  dropped: Left[];
  refused: Left[];
}

/** Translates values of the original chart. A value that this chart cannot honor is refused by its name. */
export function translateValues(given: Record<string, unknown>): Translation {
  const result: Translation = { values: {}, dropped: [], refused: [] };
  visit(given, [], result);
  const { rbac } = (result.values['operator'] ?? {}) as {
    rbac?: { scope?: string; allowedNamespaces?: unknown };
  };
  if (rbac?.allowedNamespaces !== undefined && rbac.scope !== 'namespace') {
    delete rbac.allowedNamespaces;
    const reason = 'the original ignores the list without operator.rbac.scope=namespace';
    result.dropped.push({ path: 'operator.rbac.allowedNamespaces', reason });
  }
  return result;
}

function visit(given: Record<string, unknown>, parents: readonly string[], result: Translation): void {
  for (const [name, value] of Object.entries(given)) {
    const steps = [...parents, name];
    const path = steps.join('.');
    const rule = valueRules.find((one) => one.path === path);
    const isParent = valueRules.some((one) => one.path.startsWith(`${path}.`));
    if (rule !== undefined) use(rule, steps, value, result);
    else if (isParent && typeof value === 'object' && value !== null && !Array.isArray(value))
      visit(value as Record<string, unknown>, steps, result);
    else if (isEmpty(value)) result.dropped.push({ path, reason: 'the value is empty' });
    else result.refused.push({ path, reason: 'the chart of the original 0.4.2 has no such value' });
  }
}

function use(rule: ValueRule, steps: readonly string[], value: unknown, result: Translation): void {
  const { path, keeps, drops = never, reason = '' } = rule;
  if (keeps === undefined ? !drops(value) : keeps(value)) return put(result.values, steps, value);
  (drops(value) ? result.dropped : result.refused).push({ path, reason });
}

function put(target: Record<string, unknown>, [step = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) target[step] = value;
  else {
    const inner = (target[step] ?? {}) as Record<string, unknown>;
    target[step] = inner;
    put(inner, rest, value);
  }
}
