import { escaped } from '@toolhive/contract/printable';
import type { PinFinding, PinnedItem } from '@toolhive/contract/tool-pins';
import { findingRules } from './finding-rules.ts';

/** How much of an item the rules examine. A longer item is a finding. */
const maxScanned = 64 * 1024;
/** How much context is quoted around a match, and how much in total. */
const quoted = 15;
const maxExcerpt = 80;
/** A picture in a text, such as an icon. */
const picture = /^data:image\/[\w.+-]{1,20};base64,[A-Za-z0-9+/=]*$/;
/** Deeper ones do not occur: messages are refused before. */
const maxDepth = 500;

/** Searches an item's definition for suspicious features. The time is proportional to its size, up to a limit. */
export function findingsIn({
  kind,
  name,
  content,
}: Pick<PinnedItem, 'kind' | 'name'> & { content: unknown }): PinFinding[] {
  const text = stringsIn(content);
  const words = text
    .normalize('NFKC')
    .slice(0, maxScanned)
    .replace(/[\p{Cf}\p{Mn}]/gu, '');
  const findings = findingRules.flatMap(({ id, severity, finds, where, pattern }) => {
    // Only the names of tools share a namespace with those of other servers and of the client.
    if (where === 'name' && kind !== 'tool') return [];
    const looked = where === 'name' ? name : where === 'words' ? words : text;
    const found = pattern.exec(looked);
    if (found === null) return [];
    const subject = where === 'name' ? 'its name' : 'its text';
    return [{ rule: id, severity, message: `${subject} ${finds}`, ...excerptOf(looked, found) }];
  });
  if (text.length < maxScanned) return findings;
  const message = `the text is longer than ${maxScanned / 1024} KiB, and only the first part was examined`;
  return [...findings, { rule: 'long-text', severity: 'medium', message }];
}

function excerptOf(text: string, found: RegExpExecArray): { excerpt?: string } {
  const start = Math.max(0, found.index - quoted);
  const end = Math.min(found.index + found[0].length + quoted, start + maxExcerpt);
  return { excerpt: escaped(text.slice(start, end).replaceAll(/\s+/g, ' ')) };
}

/** All strings in a value, names of members too: models read those as well. At most as many as are examined. */
function stringsIn(value: unknown): string {
  const strings: string[] = [];
  let length = 0;
  const add = (text: string): void => {
    if (length >= maxScanned || picture.test(text)) return;
    const taken = text.slice(0, maxScanned - length);
    strings.push(taken);
    length += taken.length + 1;
  };
  const visit = (part: unknown, depth: number): void => {
    if (length >= maxScanned || depth > maxDepth) return;
    if (typeof part === 'string') return add(part);
    if (Array.isArray(part)) for (const element of part) visit(element, depth + 1);
    else if (typeof part === 'object' && part !== null)
      for (const [name, member] of Object.entries(part)) {
        add(name);
        visit(member, depth + 1);
      }
  };
  visit(value, 0);
  return strings.join('\n');
}
