import type { ClientApplication } from '@toolhive/contract/client-application';
import { isCollection, isMap } from 'yaml';
import type { ParsedNode } from 'yaml';
import { CommaList, Comments } from './comma-list.ts';
import type { Span } from './comma-list.ts';
import type { EntryValue } from './entry.ts';
import type { Changes } from './entry-file.ts';
import { conflictAt, indentAt, lineEnd, lineStartAt } from './source.ts';
import type { Source } from './source.ts';
import { columnOf, contentEnd, isFlow, spanOf } from './yaml-nodes.ts';
import type { Collection, Member, Place } from './yaml-nodes.ts';

interface Edit extends Span {
  text: string;
}

const comments = new Comments(/#[^\r\n]*/, '#');

/** The text of a file with the changes. Only the lines, or the parts of brackets, that they concern are written. */
export function changeYaml(
  source: Source,
  place: Place,
  members: readonly Member[],
  application: ClientApplication,
  changes: Changes,
): string {
  requireUnique(source, members, changes);
  const { text } = source;
  const { node, parent } = place;
  const isInBrackets = parent !== undefined && isFlow(parent);
  if (isFlow(node)) {
    const inside = text.slice(node.range[0] + 1, node.range[1] - 1);
    const canBeUnfolded = parent !== undefined && !isInBrackets && inside.trim() === '';
    if (!canBeUnfolded) return changeBrackets(source, node, place.missing, members, application, changes);
  } else if (isInBrackets) {
    throw awkward(source, parent.range[0]);
  }
  return applyEdits(text, lineEdits(source, place, members, application, changes));
}

/** Of two entries of one name, programs disagree about which one counts. */
function requireUnique(source: Source, members: readonly Member[], changes: Changes): void {
  const seen = new Set<string>();
  for (const { name, span } of members) {
    if (name === undefined || !changes.has(name)) continue;
    if (seen.has(name)) throw conflictAt(source, span.from, `${name} occurs twice`);
    seen.add(name);
  }
}

function awkward(source: Source, offset: number): Error {
  return conflictAt(source, offset, 'this is written in a way that ToolHive cannot edit safely');
}

/** Changes a collection in brackets. What is new is written as JSON, which is YAML, too. */
function changeBrackets(
  source: Source,
  node: Collection,
  missing: readonly string[],
  members: readonly Member[],
  { storage }: ClientApplication,
  changes: Changes,
): string {
  const { text } = source;
  const inside = { from: node.range[0] + 1, to: node.range[1] - 1 };
  const spans = isMap(node) ? node.items.map(spanOf) : members.map(({ span }) => span);
  const list = CommaList.cut(text, inside, spans, comments);
  if (list === undefined) throw awkward(source, node.range[0]);

  const print = (name: string, value: unknown): string =>
    isMap(node) ? `${JSON.stringify(name)}: ${JSON.stringify(value)}` : JSON.stringify(value);
  for (const [index, { name }] of [...members.entries()].toReversed()) {
    if (name === undefined || !changes.has(name)) continue;
    const value = changes.get(name);
    if (value === undefined) list.remove(index);
    else list.replace(index, print(name, value));
  }

  const isTall = text.slice(inside.from, inside.to).includes('\n');
  const ownLine = `${lineEnd(text)}${indentAt(text, node.range[0])}  `;
  const lead = (): string => (list.isEmpty ? (isTall ? ownLine : '') : list.lead || ' ');
  const added = additions(members, changes);
  const [first, ...rest] = missing;
  if (first === undefined) {
    for (const [name, value] of added) list.add(print(name, value), lead(), '');
  } else if (added.length > 0) {
    const entries: unknown = storage === 'map' ? Object.fromEntries(added) : added.map(([, value]) => value);
    const nested = rest.reduceRight((value, key) => ({ [key]: value }), entries);
    list.add(print(first, nested), lead(), '');
  }
  return text.slice(0, inside.from) + list.toString() + text.slice(inside.to);
}

/** The entries to add. */
function additions(members: readonly Member[], changes: Changes): (readonly [string, EntryValue])[] {
  const present = new Set(members.map(({ name }) => name));
  return [...changes].flatMap(([name, value]) =>
    value === undefined || present.has(name) ? [] : [[name, value] as const],
  );
}

/** Changes a collection that is written in lines, or makes one. */
function lineEdits(
  source: Source,
  place: Place,
  members: readonly Member[],
  { storage }: ClientApplication,
  changes: Changes,
): Edit[] {
  const { text } = source;
  const print = new LinePrinter(lineEnd(text), stepOf(place.parent ?? place.node), storage);
  const edits: Edit[] = [];
  let left = members.length;
  for (const { name, span } of members) {
    if (name === undefined || !changes.has(name)) continue;
    const value = changes.get(name);
    edits.push({
      ...linesOf(source, span),
      text: value ? print.entry(name, value, indentAt(text, span.from)) : '',
    });
    if (value === undefined) left -= 1;
  }

  const added = additions(members, changes);
  if (added.length > 0) return [...edits, ...insertion(source, place, added, print)];
  if (left === 0 && members.length > 0) edits.push(emptied(source, place, storage));
  return edits;
}

/** Appends entries to their collection, which is created if it is missing or empty. */
function insertion(
  source: Source,
  { node, pair, parent, missing }: Place,
  added: readonly (readonly [string, EntryValue])[],
  print: LinePrinter,
): Edit[] {
  const put = (at: number, indent: string): Edit => {
    const entries = added.map(([name, value]) =>
      print.entry(name, value, indent + print.step.repeat(missing.length)),
    );
    const isAtStart = at === 0 || source.text[at - 1] === '\n';
    const lines = print.keys(missing, indent) + entries.join('');
    return { from: at, to: at, text: isAtStart ? lines : print.newline + lines };
  };
  if (isCollection(node) && node.items.length > 0) {
    const column = columnOf(node);
    const ownColumn = parent === undefined ? 0 : Math.max(column, columnOf(parent) + 1);
    return [put(afterComments(source, contentEnd(node), ownColumn), ' '.repeat(column))];
  }
  if (pair === undefined) return [put(source.text.length, '')];
  if (node === null) throw awkward(source, pair.key.range[0]);
  const indent = indentAt(source.text, pair.key.range[0]) + print.step;
  return [blanked(source, node), put(lineAfter(source, node.range[1]), indent)];
}

/** The complete lines of a member. Throws if the lines contain anything else. */
function linesOf(source: Source, { from, to }: Span): Span {
  const start = lineStartAt(source.text, from);
  if (source.text.slice(start, from).trim() !== '') throw awkward(source, from);
  return { from: start, to: lineAfter(source, to) };
}

/** The start of the line after an offset. Throws if more than a comment precedes it. */
function lineAfter(source: Source, offset: number): number {
  const { text } = source;
  if (offset > 0 && text[offset - 1] === '\n') return offset;
  const newline = text.indexOf('\n', offset);
  const end = newline === -1 ? text.length : newline + 1;
  if (!/^[ \t]*(#.*)?\r?\n?$/.test(text.slice(offset, end))) throw awkward(source, offset);
  return end;
}

/** Where a list continues after an item: after comments with at least this indentation. */
function afterComments(source: Source, offset: number, column: number): number {
  const { text } = source;
  let end = lineAfter(source, offset);
  for (let start = end; start < text.length;) {
    const line = /[^\n]*\n?/y;
    line.lastIndex = start;
    const found = line.exec(text)?.[0] ?? '';
    const isComment = found.trimStart().startsWith('#') && found.search(/\S/) >= column;
    if (!isComment && found.trim() !== '') break;
    start += found.length;
    if (isComment) end = start;
  }
  return end;
}

/** An explicit sign of emptiness, where all entries have gone: programs do not like to find null. */
function emptied(source: Source, { pair }: Place, storage: ClientApplication['storage']): Edit {
  if (pair === undefined) throw awkward(source, 0);
  // The colon, and perhaps an anchor or a tag.
  const head = /[ \t]*:(?:[ \t]+[&!]\S*)*/y;
  head.lastIndex = pair.key.range[1];
  if (!head.test(source.text)) throw awkward(source, pair.key.range[0]);
  return { from: head.lastIndex, to: head.lastIndex, text: storage === 'map' ? ' {}' : ' []' };
}

/** Takes out a null or an empty collection, so that there is room for a real one. */
function blanked({ text }: Source, { range: [from, to] }: ParsedNode): Edit {
  const before = text.slice(lineStartAt(text, from), from);
  return { from: from === to ? from : from - (before.length - before.trimEnd().length), to, text: '' };
}

/** The indentation step of the first mapping within the outermost one. */
function stepOf(outer: ParsedNode | null): string {
  if (!isMap(outer)) return '  ';
  const column = columnOf(outer);
  const inner = outer.items.map(({ value }) => value).find((value) => isMap(value) && !isFlow(value));
  return ' '.repeat(isMap(inner) ? Math.max(columnOf(inner) - column, 1) : 2);
}

function applyEdits(text: string, edits: readonly Edit[]): string {
  return edits
    .toSorted((one, other) => other.from - one.from || other.to - one.to)
    .reduce((edited, { from, to, text: put }) => edited.slice(0, from) + put + edited.slice(to), text);
}

/** Writes entries in lines. */
class LinePrinter {
  readonly newline: string;
  readonly step: string;
  readonly #storage: ClientApplication['storage'];

  constructor(newline: string, step: string, storage: ClientApplication['storage']) {
    this.newline = newline;
    this.step = step;
    this.#storage = storage;
  }

  keys(keys: readonly string[], indent: string): string {
    return keys
      .map((key, depth) => `${indent}${this.step.repeat(depth)}${scalar(key)}:${this.newline}`)
      .join('');
  }

  entry(name: string, value: EntryValue, indent: string): string {
    const fields = Object.entries(value).map(
      ([key, field]) =>
        `${scalar(key)}: ${typeof field === 'object' ? JSON.stringify(field) : scalar(field)}`,
    );
    const lines =
      this.#storage === 'map'
        ? [`${indent}${scalar(name)}:`, ...fields.map((field) => `${indent}${this.step}${field}`)]
        : fields.map((field, index) => `${indent}${index === 0 ? '- ' : '  '}${field}`);
    return lines.map((line) => line + this.newline).join('');
  }
}

/** Unquoted if every YAML version reads the value as this text. */
function scalar(value: string | number | boolean): string {
  if (typeof value !== 'string') return String(value);
  const isPlain = /^[A-Za-z](?:[\w./#%:-]*[\w/-])?$/.test(value);
  const isWord = /^(y|n|yes|no|on|off|true|false|null)$/i.test(value);
  return isPlain && !isWord ? value : JSON.stringify(value);
}
