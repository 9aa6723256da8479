import { isScalar, parseDocument, visit } from 'yaml';
import type { Document, Node } from 'yaml';

/**
 * The value of a YAML text that others have written, in linear time. Throws the first error, and for a repeated key. A warning
 * would contain a line of the text, which can be a secret, so nothing prints it.
 */
export function valueOfYaml(text: string, { maxAliasCount }: { maxAliasCount: number }): unknown {
  // A message with an excerpt for each error would take quadratic time.
  const document = parseDocument(text, { uniqueKeys: false, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) throw error;
  if (repeatedKey(document) !== undefined) throw new Error('a key occurs twice');
  return document.toJS({ maxAliasCount }) as unknown;
}

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
