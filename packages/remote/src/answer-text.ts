/**
 * The JSON object in an answer, as text. A member that is null or an empty text is left out, because servers write
 * both for missing values. Undefined if there is no object.
 */
export function objectIn(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''), withoutNothing);
    return isObject(value) ? JSON.stringify(value) : undefined;
  } catch {
    return undefined;
  }
}

/** The members of a JSON object in an answer, without those that are nothing. Empty if there is no object. */
export function membersIn(text: string): Record<string, unknown> {
  return JSON.parse(objectIn(text) ?? '{}') as Record<string, unknown>;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function withoutNothing(_name: string, value: unknown): unknown {
  if (value === null || value === '') return undefined;
  return Array.isArray(value) ? value.filter(() => true) : value; // removed elements are holes, which filter skips
}
