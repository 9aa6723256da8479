import { isScalar, visit } from 'yaml';
import type { Document, Node } from 'yaml';

/**
 * Returns the first key that a mapping has twice. For documents that are parsed without this check: that of the parser
 * compares each key with all others of its mapping, which takes minutes for a file of the allowed size.
 */
export function repeatedKey(document: Document): Node | undefined {
  let found: Node | undefined;
  visit(document, {
    Map(_key, { items }) {
      const names = new Set<string>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const name = String(key.value); // as in an object, where 1 and "1" are the same
        if (names.has(name)) {
          found = key;
          return visit.BREAK;
        }
        names.add(name);
      }
      return undefined;
    },
  });
  return found;
}
