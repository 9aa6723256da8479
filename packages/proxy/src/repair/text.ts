import { elementsOf, isObject, membersOf } from '../jsonrpc/message.ts';
import { originOf } from './shapes.ts';

/**
 * Writes a repaired value as JSON. Every part that stays the same keeps its text, so that numbers survive which
 * JavaScript cannot hold. `text` is that of the value before the repair.
 */
export function writeRepaired(after: unknown, before: unknown, text: string): string {
  if (after === before) return text;
  if (isObject(after) && isObject(before)) return writeObject(after, before, text);
  if (Array.isArray(after) && Array.isArray(before)) return writeList(after, before, text);
  return JSON.stringify(after);
}

function writeObject(after: Record<string, unknown>, before: Record<string, unknown>, text: string): string {
  const texts = new Map(membersOf(text));
  const members = Object.entries(after).map(([name, value]) => {
    const known = texts.get(name);
    const written = known === undefined ? JSON.stringify(value) : writeRepaired(value, before[name], known);
    return `${JSON.stringify(name)}:${written}`;
  });
  return `{${members.join(',')}}`;
}

/** Elements may be missing, so each is found by the element that it was made from. */
function writeList(after: readonly unknown[], before: readonly unknown[], text: string): string {
  // Texts need no other spelling than JSON's, and a server can list a million of them.
  if (after.every((element) => typeof element === 'string')) return JSON.stringify(after);
  const texts = elementsOf(text);
  const places = new Map(before.map((element, index) => [element, index]));
  const elements = after.map((element) => {
    const place = places.get(originOf(element));
    return place === undefined
      ? JSON.stringify(element)
      : writeRepaired(element, before[place], texts[place] ?? JSON.stringify(element));
  });
  return `[${elements.join(',')}]`;
}
