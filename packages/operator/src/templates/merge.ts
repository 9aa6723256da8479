/** The fields by which Kubernetes identifies the items of lists in pod templates. */
const keys: Record<string, string> = {
  containers: 'name',
  initContainers: 'name',
  ephemeralContainers: 'name',
  env: 'name',
  volumes: 'name',
  volumeMounts: 'mountPath',
  ports: 'containerPort',
  imagePullSecrets: 'name',
  hostAliases: 'ip',
  topologySpreadConstraints: 'topologyKey',
};

/** The lists whose items have one of several fields, so that parts of two items cannot be combined. */
const alternatives = new Set(['env', 'volumes']);

/** Two items of lists that Kubernetes identifies by the same field, as `volumeMounts with mountPath /data`. */
export function repeatedItems(template: unknown, field = ''): string[] {
  if (Array.isArray(template)) {
    const key = keys[field];
    const values = template.map((item: unknown) =>
      isObject(item) && key !== undefined ? item[key] : undefined,
    );
    const repeated = values.filter((value, index) => value !== undefined && values.indexOf(value) !== index);
    return [
      ...new Set(repeated.map((value) => `${field} with ${key} ${String(value)}`)),
      ...template.flatMap((item) => repeatedItems(item)),
    ];
  }
  if (!isObject(template)) return [];
  return Object.entries(template).flatMap(([name, value]) => repeatedItems(value, name));
}

/** Merges a user's pod template into a template of the operator, as a strategic merge patch does. The user's values win. */
export function mergeTemplate(base: unknown, overlay: unknown, field = ''): unknown {
  if (overlay === undefined || overlay === null) return base;
  if (Array.isArray(base) && Array.isArray(overlay)) {
    const key = keys[field];
    return key === undefined ? overlay : mergeLists(base, overlay, key, alternatives.has(field));
  }
  if (!isObject(base) || !isObject(overlay)) return overlay;
  const merged = Object.entries(overlay).map(([name, value]) => [
    name,
    mergeTemplate(base[name], value, name),
  ]);
  return { ...base, ...Object.fromEntries(merged) };
}

function mergeLists(base: unknown[], overlay: unknown[], key: string, isWhole: boolean): unknown[] {
  const keyOf = (item: unknown): unknown => (isObject(item) ? item[key] : undefined);
  const changed = base.map((item) => {
    const other = overlay.find((each) => keyOf(each) === keyOf(item));
    return isWhole ? (other ?? item) : mergeTemplate(item, other);
  });
  const added = overlay.filter((item) => !base.some((other) => keyOf(other) === keyOf(item)));
  return [...changed, ...added];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
