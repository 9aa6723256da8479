import canonicalize from 'canonicalize';
import { hash } from 'node:crypto';
import { escaped } from '@toolhive/contract/printable';
import { createTwoFilesPatch } from 'diff';
import { stringify } from 'yaml';

/** A version of an item: its canonical JSON (RFC 8785) and the hash of that. */
export interface Version {
  content: string;
  hash: string;
}

/** Longer texts are not compared line by line. */
const maxCompared = 64 * 1024;
/** With more lines that differ, a comparison takes too long. */
const maxEdits = 1_000;

/** Returns the canonical form of an item's definition. */
export function versionOf(value: unknown): Version {
  const content = canonicalText(value);
  return { content, hash: hash('sha256', content) };
}

function canonicalText(value: unknown): string {
  try {
    return canonicalize(value) ?? 'null';
  } catch {
    // RFC 8785 knows no half characters and no numbers beyond its range. Such an item keeps the order of its members.
    return JSON.stringify(value) ?? 'null';
  }
}

/** Returns the names of the members that differ between two versions. */
export function changedMembers(before: string, after: string): string[] {
  const [old, now] = [membersOf(before), membersOf(after)];
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  return names.filter((name) => canonicalText(old[name]) !== canonicalText(now[name])).slice(0, maxNamed);
}

/** How many members that differ are named. */
const maxNamed = 20;

/**
 * Returns the difference between two versions as a unified diff of YAML, in which texts of several lines are readable.
 * Characters that cannot be seen are escaped. Undefined for texts that are too long to be compared.
 */
export function unifiedDiff(before: string | undefined, after: string): string | undefined {
  if ((before?.length ?? 0) > maxCompared || after.length > maxCompared) return undefined;
  const old = before === undefined ? '' : readable(before);
  const patch = createTwoFilesPatch('approved', 'now', old, readable(after), undefined, undefined, {
    context: 3,
    maxEditLength: maxEdits,
  });
  return patch?.replace(/^(?:=+\n)?--- .*\n\+\+\+ .*\n/, '');
}

function readable(content: string): string {
  const text = stringify(JSON.parse(content), { lineWidth: 0, aliasDuplicateObjects: false });
  return `${escaped(text).trimEnd()}\n`;
}

function membersOf(content: string): Record<string, unknown> {
  const value: unknown = JSON.parse(content);
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : { text: value };
}
