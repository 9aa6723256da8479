import { createHash } from 'node:crypto';

/** A value as JSON with sorted keys and without undefined values, so that equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

/** The first 16 hexadecimal digits of the SHA-256 of a value's canonical JSON. */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, 16);
}

/** The fields by which Kubernetes identifies the items of a list. */
const listKeys = ['name', 'mountPath', 'containerPort', 'port', 'type', 'topologyKey', 'ip', 'uid'];

/**
 * Reduces a live value to the fields that a wanted value has. Values that other programs add, such as defaults and
 * injected containers, disappear. The result equals the wanted value if nothing that ToolHive wants has changed.
 */
export function projection(live: unknown, wanted: unknown, field = ''): unknown {
  if (live === undefined && isEmpty(wanted)) return wanted; // the API server leaves empty values out
  if (resourceFields.has(field) && isObject(live) && isObject(wanted)) return amounts(live, wanted);
  if (Array.isArray(wanted)) {
    if (!Array.isArray(live)) return live;
    const key = listKeys.find((name) => identifies(wanted, name));
    if (key === undefined) return live.map((item, index) => projection(item, (wanted as unknown[])[index]));
    return (wanted as Record<string, unknown>[]).map((item) => {
      const match = live.find((other) => isObject(other) && other[key] === item[key]) as unknown;
      return projection(match, item);
    });
  }
  if (!isObject(wanted)) return live;
  if (!isObject(live)) return live;
  return Object.fromEntries(
    Object.entries(wanted)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, projection(live[name], value, name)]),
  );
}

/** The fields with amounts of resources, which the API server spells in its own way, such as `1` for `1000m`. */
const resourceFields = new Set(['limits', 'requests']);

/** The wanted amounts, or the live ones that differ from them. */
function amounts(live: Record<string, unknown>, wanted: Record<string, unknown>): object {
  return Object.fromEntries(
    Object.entries(wanted).map(([name, value]) => {
      const amount = amountOf(value);
      return [name, amount !== undefined && amount === amountOf(live[name]) ? value : live[name]];
    }),
  );
}

const factors: Record<string, number> = {
  ...Object.fromEntries(['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'].map((unit, index) => [unit, 1_000 ** (index - 3)])), // prettier-ignore
  ...Object.fromEntries(['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].map((unit, index) => [unit, 1_024 ** (index + 1)])), // prettier-ignore
};

/** The number of a quantity, or undefined for another value. */
function amountOf(value: unknown): number | undefined {
  const [, number = '', unit = ''] = /^([-+]?[\d.]+(?:[eE][-+]?\d+)?)([a-zA-Z]*)$/.exec(String(value)) ?? [];
  const factor = factors[unit];
  return number === '' || factor === undefined ? undefined : Number(number) * factor;
}

/** Whether every item has the field, with a different value. */
function identifies(items: readonly unknown[], name: string): boolean {
  const values = items.map((item) => (isObject(item) ? item[name] : undefined));
  return values.every((value) => value !== undefined) && new Set(values).size === values.length;
}

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (isObject(value)) return Object.keys(value).length === 0;
  return value === '' || value === false || value === 0;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
