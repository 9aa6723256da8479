import { MalformedMessage, isObject, membersOf, readValue } from './message.ts';

/**
 * Returns the exact JSON text of the ID of a request that is not a valid message, so that the error can name the request.
 * Undefined for anything that is not a request, or has no ID that JSON-RPC allows.
 */
export function readableId(text: string): string | undefined {
  const value = valueOf(text);
  if (!isObject(value) || (value['method'] === undefined && ('result' in value || 'error' in value)))
    return undefined;
  const { id } = value;
  if (typeof id !== 'string' && typeof id !== 'number') return undefined;
  return membersOf(text).findLast(([name]) => name === 'id')?.[1]; // the last one is what `value` contains
}

function valueOf(text: string): unknown {
  try {
    return readValue(text);
  } catch (error) {
    if (error instanceof MalformedMessage) return undefined;
    throw error;
  }
}
