/** The fields by which Kubernetes identifies list items in pod templates, with the value of an absent field. */
const keys: Record<string, readonly (readonly [field: string, otherwise?: string])[]> = {
  containers: [['name']],
  initContainers: [['name']],
  ephemeralContainers: [['name']],
  env: [['name']],
  volumes: [['name']],
  volumeMounts: [['mountPath']],
  ports: [['containerPort'], ['protocol', 'TCP']],
  imagePullSecrets: [['name']],
  hostAliases: [['ip']],
  topologySpreadConstraints: [['topologyKey'], ['whenUnsatisfiable', 'DoNotSchedule']],
};

/** The lists whose items have one of several fields, so that parts of two items cannot be combined. */
const alternatives = new Set(['env', 'volumes']);

/** Two items of lists that Kubernetes identifies by the same field, as `volumeMounts with mountPath /data`. */
export function repeatedItems(template: unknown, field = ''): string[] {
  if (Array.isArray(template)) {
    const values = template.map((item: unknown) => keyOf(field, item));
    const repeated = values.filter((value, index) => value !== undefined && values.indexOf(value) !== index);
    return [
      ...new Set(repeated.map((value) => `${field} with ${value ?? ''}`)),
      ...template.flatMap((item) => repeatedItems(item)),
    ];
  }
  if (!isObject(template)) return [];
  return Object.entries(template).flatMap(([name, value]) => repeatedItems(value, name));
}

/** Merges a user's pod template into a template of the operator, as a strategic merge patch does. The user's values win. */
export function mergeTemplate(base: unknown, overlay: unknown, field = ''): unknown {
  if (overlay === undefined || overlay === null) return base;
  if (Array.isArray(base) && Array.isArray(overlay))
    return Object.hasOwn(keys, field) ? mergeLists(base, overlay, field) : overlay;
  if (!isObject(base) || !isObject(overlay)) return overlay;
  const merged = Object.entries(overlay).map(([name, value]) => [
    name,
    mergeTemplate(base[name], value, name),
  ]);
  return { ...base, ...Object.fromEntries(merged) };
}

function mergeLists(base: unknown[], overlay: unknown[], field: string): unknown[] {
  const isSame = (one: unknown, other: unknown): boolean => keyOf(field, one) === keyOf(field, other);
  const changed = base.map((item) => {
    const other = overlay.find((each) => isSame(each, item));
    return alternatives.has(field) ? (other ?? item) : mergeTemplate(item, other);
  });
  const added = overlay.filter((item) => !base.some((other) => isSame(other, item)));
  return [...changed, ...added];
}

/** `mountPath /data`, undefined for an item without a key. */
function keyOf(field: string, item: unknown): string | undefined {
  const fields = Object.hasOwn(keys, field) ? keys[field] : undefined;
  if (fields === undefined || !isObject(item)) return undefined;
  const [first = ''] = fields.map(([name]) => name);
  if (text(item[first]) === undefined) return undefined;
  return fields.map(([name, otherwise]) => `${name} ${text(item[name]) ?? otherwise ?? ''}`).join(' and ');
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/** A template without `null` fields, which Kubernetes reads as absent. Charts write `volumes:` without a value. */
export function withoutNulls(template: unknown): unknown {
  if (Array.isArray(template)) return template.map(withoutNulls);
  if (!isObject(template)) return template;
  const present = Object.entries(template).filter(([, value]) => value !== null);
  return Object.fromEntries(present.map(([name, value]) => [name, withoutNulls(value)]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
