import type { CedarValueJson } from '@cedar-policy/cedar-wasm/nodejs';

/** The types of arguments that policies can compare. */
export type ScalarType = 'text' | 'boolean' | 'decimal';

/** Returns the type of a scalar that Cedar represents exactly. Undefined for all other values. */
export function typeOf(value: unknown): ScalarType | undefined {
  if (typeof value === 'string') return 'text';
  if (typeof value === 'boolean') return 'boolean';
  return typeof value === 'number' && decimalText(value) !== undefined ? 'decimal' : undefined;
}

/** Whether `cedarValueOf` loses nothing of a value. */
function isWhole(value: unknown): boolean {
  return Array.isArray(value)
    ? value.every((one) => typeOf(one) !== undefined || one === null)
    : typeOf(value) !== undefined;
}

/** Returns a scalar or a list of scalars as a Cedar value. Numbers are decimals, as in the original. */
export function cedarValueOf(value: unknown): CedarValueJson | undefined {
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') {
    const text = decimalText(value);
    return text === undefined ? undefined : { __extn: { fn: 'decimal', arg: text } };
  }
  if (!Array.isArray(value)) return undefined;
  return value.flatMap((one: unknown) => (Array.isArray(one) ? [] : (cedarValueOf(one) ?? [])));
}

/** How deep the records in claims are read. */
const maxDepth = 4;

/**
 * Returns a claim as a Cedar value. Some providers put roles into an inner object, which becomes a record. An object with a
 * name that Cedar reserves is left out, because Cedar would read it as another value.
 */
export function claimValueOf(value: unknown, depth = 0): CedarValueJson | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return cedarValueOf(value);
  if (depth >= maxDepth || Object.keys(value).some(isReserved)) return undefined;
  const members = Object.entries(value).flatMap(([name, inner]) => {
    const written = claimValueOf(inner, depth + 1);
    return written === undefined ? [] : [[name, written] as const];
  });
  return Object.fromEntries(members);
}

/** Whether `claimValueOf` loses nothing of a claim. */
export function isWholeClaim(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return isWhole(value);
  return (
    depth < maxDepth &&
    Object.entries(value).every(
      ([name, inner]) => !isReserved(name) && (inner === null || isWholeClaim(inner, depth + 1)),
    )
  );
}

const isReserved = (name: string): boolean => name.startsWith('__');

/** A Cedar decimal has at most four digits after the point. Other numbers have no such form. */
function decimalText(value: number): string | undefined {
  if (!Number.isFinite(value) || Math.abs(value) >= 922_337_203_685_477) return undefined;
  const text = value.toFixed(4);
  return Number(text) === value ? text : undefined;
}
