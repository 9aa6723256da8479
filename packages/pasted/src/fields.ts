import { isObject } from './parse-document.ts';

/** An object of a document whose values are not checked yet. */
export type Fields = Readonly<Record<string, unknown>>;

/** The text, unless it is missing or empty. */
export function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A text, number, or switch as a text. Undefined for anything else. */
export function scalar(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

/** The object under a key, or an empty one. */
export function inner(fields: Fields, key: string): Fields {
  const value = fields[key];
  return isObject(value) ? value : {};
}

/** The items of a list, or none. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}
