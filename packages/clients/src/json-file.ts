import { findNodeAtLocation, getNodeValue, parseTree, printParseErrorCode } from 'jsonc-parser';
import type { Node, ParseError } from 'jsonc-parser';
import { CommaList, Comments } from './comma-list.ts';
import type { Changes, OpenFormat } from './entry-file.ts';
import { conflictAt, indentAt, lineEnd } from './source.ts';
import type { Source } from './source.ts';

const comments = new Comments(/\/\/[^\r\n]*|\/\*[\s\S]*?\*\//, '//');

/** Reads JSON with comments and trailing commas. Nothing but white space and comments counts as an empty object. */
export const openJson: OpenFormat = (given, { pointer: usual, laterPointer }) => {
  const rooted = withRoot(given);
  const isLater = laterPointer !== undefined && hasSection(parse(rooted), laterPointer);
  const pointer = isLater ? laterPointer : usual;
  const source = withSection(rooted, pointer);
  const root = parse(source);
  const { node, missing } = follow(source, root, pointer);
  const members = missing.length === 0 ? propertiesOf(node) : [];
  return {
    entries: new Map(members.map(({ name, value }) => [name, getNodeValue(value) as unknown])),
    change: (changes) => change(source, root, node, missing, changes),
    without(names) {
      const all = getNodeValue(root) as object;
      const servers = descend(all, pointer);
      for (const name of names) delete servers[name];
      return all;
    },
  };
};

function withRoot(source: Source): Source {
  const [whole = '', before = '', after = ''] = /^(\s*)null(\s*)$/.exec(source.text) ?? [];
  if (whole !== '') return { path: source.path, text: `${before}{}${after}` };
  if (comments.triviaAt(source.text, 0).length < source.text.length) return source;
  const end = lineEnd(source.text);
  const kept = source.text.trim() === '' ? '' : source.text.trimEnd() + end;
  return { path: source.path, text: `${kept}{}${end}` };
}

/** The file with an empty object in the place of null, with which clients write that they have no servers. */
function withSection(source: Source, pointer: readonly string[]): Source {
  const root = parse(source);
  const nothing = pointer
    .map((_key, depth) => findNodeAtLocation(root, pointer.slice(0, depth + 1)))
    .find((node) => node?.type === 'null');
  if (nothing === undefined) return source;
  const { offset, length } = nothing;
  return { ...source, text: `${source.text.slice(0, offset)}{}${source.text.slice(offset + length)}` };
}

function parse(source: Source): Node {
  const errors: ParseError[] = [];
  const root = parseTree(source.text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined) {
    const what = printParseErrorCode(error.error)
      .replaceAll(/(?<!^)[A-Z]/g, ' $&')
      .toLowerCase();
    throw conflictAt(source, error.offset, `this is not JSON: ${what}`);
  }
  if (root?.type !== 'object') throw conflictAt(source, root?.offset ?? 0, 'not an object');
  return root;
}

/** Follows the pointer through existing objects. The missing parts must be created. */
function follow(source: Source, root: Node, pointer: readonly string[]): { node: Node; missing: string[] } {
  let node = root;
  for (const [depth, key] of pointer.entries()) {
    const [next, again] = propertiesOf(node).filter(({ name }) => name === key);
    if (again !== undefined) throw isThereTwice(source, again);
    if (next === undefined) return { node, missing: pointer.slice(depth) };
    if (next.value.type !== 'object') throw conflictAt(source, next.value.offset, `${key} is not an object`);
    node = next.value;
  }
  return { node, missing: [] };
}

/** Whether the file has a section for servers at the place, and not a server with that name. */
function hasSection(root: Node, pointer: readonly string[]): boolean {
  const section = findNodeAtLocation(root, [...pointer]);
  return section?.type === 'object' && propertiesOf(section).every(({ value }) => value.type === 'object');
}

interface Property {
  name: string;
  key: Node;
  value: Node;
}

function propertiesOf(object: Node): Property[] {
  return (object.children ?? []).flatMap(({ children: [key, value] = [] }) =>
    key === undefined || value === undefined ? [] : [{ name: String(key.value), key, value }],
  );
}

/** Of two equal keys, programs disagree about which one counts. */
function isThereTwice(source: Source, { name, key }: Property): Error {
  return conflictAt(source, key.offset, `the key ${name} occurs twice`);
}

function descend(value: object, pointer: readonly string[]): Record<string, unknown> {
  let object = value as Record<string, unknown>;
  // The parser creates objects without a prototype, where `__proto__` is an ordinary key, and so does this code.
  for (const key of pointer) {
    object = (object[key] ??= Object.create(null) as unknown) as Record<string, unknown>;
  }
  return object;
}

function change(source: Source, root: Node, object: Node, missing: string[], changes: Changes): string {
  const { text } = source;
  const inside = { from: object.offset + 1, to: object.offset + object.length - 1 };
  const properties = propertiesOf(object);
  const spans = properties.map(({ key, value }) => ({ from: key.offset, to: value.offset + value.length }));
  const list = CommaList.cut(text, inside, spans, comments);
  if (list === undefined) throw conflictAt(source, object.offset, 'this object cannot be taken apart');

  const layout = layoutOf(text, root, object, list);
  const additions = new Map<string, unknown>(changes.entries().filter(([, value]) => value !== undefined));
  if (missing.length === 0) changePresent(source, properties, list, layout, changes, additions);
  for (const [name, value] of nested(missing, additions)) {
    const isTall = layout.lead.includes('\n');
    const printed = isTall ? print(value, layout.unit, layout.lead) : print(value);
    list.add(`${JSON.stringify(name)}:${isTall ? ' ' : ''}${printed}`, layout.lead, layout.close);
  }
  return text.slice(0, inside.from) + list.toString() + text.slice(inside.to);
}

/** Removes or replaces existing entries, and removes them from the additions. */
function changePresent(
  source: Source,
  properties: readonly Property[],
  list: CommaList,
  { unit, newline }: Layout,
  changes: Changes,
  additions: Map<string, unknown>,
): void {
  const { text } = source;
  const seen = new Set<string>();
  for (const [index, property] of [...properties.entries()].toReversed()) {
    const { name, key, value } = property;
    if (!changes.has(name)) continue;
    if (seen.has(name)) throw isThereTwice(source, property);
    seen.add(name);
    additions.delete(name);
    const wanted = changes.get(name);
    if (wanted === undefined) {
      list.remove(index);
      continue;
    }
    const isTall = text.slice(value.offset, value.offset + value.length).includes('\n');
    const printed = isTall ? print(wanted, unit, newline + indentAt(text, key.offset)) : print(wanted);
    list.replace(index, text.slice(key.offset, value.offset) + printed);
  }
}

/** The additions under the keys that are missing on the way to them. */
function nested(missing: readonly string[], additions: ReadonlyMap<string, unknown>): Map<string, unknown> {
  const [first, ...rest] = missing;
  if (first === undefined || additions.size === 0) return new Map(additions);
  const entries: unknown = Object.fromEntries(additions);
  return new Map([[first, rest.reduceRight((value, key) => ({ [key]: value }), entries)]]);
}

interface Layout {
  newline: string;
  /** One step of indentation. */
  unit: string;
  /** The white space before a new member. */
  lead: string;
  /** The white space after the only member. */
  close: string;
}

/** How the file is laid out: like its other members, or else like its outermost ones. */
function layoutOf(text: string, root: Node, object: Node, list: CommaList): Layout {
  const newline = lineEnd(text);
  const [outermost] = root.children ?? [];
  const isTall = outermost === undefined || text.slice(root.offset, root.offset + root.length).includes('\n');
  const unit = (outermost && indentAt(text, outermost.offset)) || '  ';
  if (!list.isEmpty) return { newline, unit, lead: list.lead, close: '' };
  if (!isTall) return { newline, unit, lead: '', close: '' };
  const close = newline + indentAt(text, object.offset);
  return { newline, unit, lead: close + unit, close };
}

/** On one line, or on several lines that begin with `newline`. */
function print(value: unknown, unit?: string, newline = ''): string {
  return JSON.stringify(value, null, unit).replaceAll('\n', newline);
}
