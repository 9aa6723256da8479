import { ParseError, getStaticTOMLValue, parseTOML } from 'toml-eslint-parser';
import type { AST } from 'toml-eslint-parser';
import type { ClientApplication } from '@toolhive/contract/client-application';
import type { EntryValue } from './entry.ts';
import type { Changes, OpenFormat } from './entry-file.ts';
import { conflictAt, lineEnd, lineStartAt } from './source.ts';
import type { Source } from './source.ts';

/** Reads TOML 1.0. Entries are tables, which are cut out of the text or appended, so that all other bytes stay. */
export const openToml: OpenFormat = (source, application) => {
  const program = parse(source);
  const all = getStaticTOMLValue(program);
  return {
    entries: new Map(membersIn(source, all, application)),
    change: (changes) => change(source, program, application, changes),
    without: (names) => withoutEntries(getStaticTOMLValue(program), application, names),
  };
};

function parse(source: Source): AST.TOMLProgram {
  try {
    return parseTOML(source.text, { tomlVersion: '1.0' });
  } catch (thrown) {
    if (!(thrown instanceof ParseError)) throw thrown;
    throw conflictAt(source, thrown.index, `this is not TOML: ${thrown.message}`);
  }
}

const isTable = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);

/** The table or list with the entries. Undefined if the file has none. */
function containerIn(all: Record<string, unknown>, pointer: readonly string[]): unknown {
  return pointer.reduce<unknown>(
    (value, key) => (isTable(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    all,
  );
}

function membersIn(
  source: Source,
  all: Record<string, unknown>,
  { pointer, storage, nameKey = 'name' }: ClientApplication,
): [string, unknown][] {
  const container = containerIn(all, pointer);
  if (container === undefined) return [];
  if (storage === 'map') {
    if (!isTable(container)) throw conflictAt(source, 0, `${pointer.join('.')} is not a table`);
    return Object.entries(container);
  }
  if (!Array.isArray(container)) throw conflictAt(source, 0, `${pointer.join('.')} is not an array`);
  return container.flatMap((item: unknown): [string, unknown][] => {
    const name = isTable(item) ? item[nameKey] : undefined;
    return typeof name === 'string' ? [[name, item]] : [];
  });
}

/** An empty container counts as none: the first entry creates it, and the last one leaves it behind. */
function withoutEntries(
  all: Record<string, unknown>,
  { pointer, storage, nameKey = 'name' }: ClientApplication,
  names: ReadonlySet<string>,
): unknown {
  const [outer, last] = [pointer.slice(0, -1), pointer.at(-1) ?? ''];
  const parent = containerIn(all, outer);
  if (!isTable(parent) || !Object.hasOwn(parent, last)) return all;
  const container = parent[last];
  const kept =
    storage === 'map' && isTable(container)
      ? Object.fromEntries(Object.entries(container).filter(([name]) => !names.has(name)))
      : Array.isArray(container)
        ? (container as unknown[]).filter((item) => !(isTable(item) && names.has(String(item[nameKey]))))
        : container;
  if (Object.keys(kept as object).length === 0) delete parent[last];
  else parent[last] = kept;
  return all;
}

/** A part of the text, from the beginning of a line to the end of one. */
interface Span {
  from: number;
  to: number;
}

type Item = AST.TOMLKeyValue | AST.TOMLTable;

function change(
  source: Source,
  program: AST.TOMLProgram,
  application: ClientApplication,
  changes: Changes,
): string {
  const { text } = source;
  const end = lineEnd(text);
  const items = program.body[0].body;
  const cuts: (Span & { text: string })[] = [];
  const added: string[] = [];
  for (const [name, value] of changes) {
    const spans = spansOf(source, items, application, name);
    const written = value === undefined ? '' : print(application, name, value).join(end) + end;
    const [first, ...others] = spans;
    // A value in place of a table, for example, could not stay at its place.
    if (first !== undefined && value !== undefined && first.isTable) {
      cuts.push({ ...first, text: written });
      cuts.push(...others.map((span) => ({ ...withLineBefore(text, span), text: '' })));
    } else {
      cuts.push(...spans.map((span) => ({ ...withLineBefore(text, span), text: '' })));
      if (value !== undefined) added.push(written);
    }
  }
  if (added.length > 0)
    cuts.push(...emptyListOf(text, items, application).map((span) => ({ ...span, text: '' })));
  let changed = text;
  for (const cut of cuts.toSorted((one, other) => other.from - one.from)) {
    changed = changed.slice(0, cut.from) + cut.text + changed.slice(cut.to);
  }
  for (const written of added) {
    const body = changed === '' || changed.endsWith('\n') ? changed : changed + end;
    const gap = body.trim() === '' || /\n\r?\n$/.test(body) ? '' : end;
    changed = body + gap + written;
  }
  return changed;
}

/** The parts of the text that make up an entry: its table, its inner tables, and keys with dots. */
function spansOf(
  source: Source,
  items: readonly Item[],
  { pointer, storage, nameKey = 'name' }: ClientApplication,
  name: string,
): (Span & { isTable: boolean })[] {
  const { text } = source;
  if (storage === 'list') return listSpans(text, items, pointer, { nameKey, name });
  const wanted = [...pointer, name];
  return items.flatMap((item): (Span & { isTable: boolean })[] => {
    if (item.type === 'TOMLKeyValue') return keySpans(source, [], [item], wanted);
    if (startsWith(item.resolvedKey, wanted))
      return [{ ...linesOf(text, item), isTable: item.resolvedKey.length === wanted.length }];
    return keySpans(source, item.resolvedKey, item.body, wanted);
  });
}

/** Keys of a table that lead to the entry or into it. */
function keySpans(
  source: Source,
  table: readonly (string | number)[],
  body: readonly AST.TOMLKeyValue[],
  wanted: readonly string[],
): (Span & { isTable: boolean })[] {
  return body.flatMap((pair) => {
    const path = [...table, ...pair.key.keys.map((key) => (key.type === 'TOMLBare' ? key.name : key.value))];
    if (startsWith(path, wanted)) return [{ ...linesOf(source.text, pair), isTable: false }];
    const isAround =
      startsWith(wanted, path) && pair.value.type === 'TOMLInlineTable' && pair.value.body.length > 0;
    if (isAround && hasKey(pair.value, wanted.slice(path.length)))
      throw conflictAt(
        source,
        pair.range[0],
        `${path.join('.')} is written on one line. Write each server as a table of its own`,
      );
    return [];
  });
}

function hasKey(value: AST.TOMLContentNode, wanted: readonly string[]): boolean {
  return containerIn({ value: getStaticTOMLValue(value) }, ['value', ...wanted]) !== undefined;
}

/** Each table of a list, with the tables inside it. */
function listSpans(
  text: string,
  items: readonly Item[],
  pointer: readonly string[],
  { nameKey, name }: { nameKey: string; name: string },
): (Span & { isTable: boolean })[] {
  let isInside = false;
  return items.flatMap((item) => {
    if (item.type === 'TOMLKeyValue' || !startsWith(item.resolvedKey, pointer)) {
      isInside = false;
      return [];
    }
    const isElement = item.kind === 'array' && item.resolvedKey.length === pointer.length + 1;
    if (isElement) {
      isInside = item.body.some(
        ({ key, value }) =>
          key.keys.length === 1 && textOf(key.keys[0]) === nameKey && getStaticTOMLValue(value) === name,
      );
    }
    return isInside ? [{ ...linesOf(text, item), isTable: isElement }] : [];
  });
}

const textOf = (key: AST.TOMLBare | AST.TOMLQuoted | undefined): string | undefined =>
  key?.type === 'TOMLQuoted' ? key.value : key?.name;

/** `mcp_servers = []`, as a client writes it at its first start. A list of tables cannot follow it. */
function emptyListOf(text: string, items: readonly Item[], { pointer, storage }: ClientApplication): Span[] {
  if (storage !== 'list') return [];
  return items.flatMap((item) => {
    if (item.type !== 'TOMLKeyValue' || item.value.type !== 'TOMLArray' || item.value.elements.length > 0)
      return [];
    const path = item.key.keys.map(textOf);
    return path.length === pointer.length && startsWith(path, pointer) ? [linesOf(text, item)] : [];
  });
}

function startsWith(path: readonly unknown[], beginning: readonly unknown[]): boolean {
  return beginning.every((key, index) => path[index] === key);
}

/** The lines of a table or a key, with a comment at the end of the last one. */
function linesOf(text: string, { range: [from, to] }: Item): Span {
  const next = text.indexOf('\n', Math.max(from, to - 1));
  return { from: lineStartAt(text, from), to: next === -1 ? text.length : next + 1 };
}

/** With one empty line before it, as ToolHive writes one before a new entry. */
function withLineBefore(text: string, { from, to }: Span): Span {
  const [before = ''] = /(?<=\n)\r?\n$/.exec(text.slice(0, from)) ?? [];
  return { from: from - before.length, to };
}

function print({ pointer, storage }: ClientApplication, name: string, value: EntryValue): string[] {
  const path = (storage === 'map' ? [...pointer, name] : pointer).map(printKey).join('.');
  const header = storage === 'map' ? `[${path}]` : `[[${path}]]`;
  return [header, ...Object.entries(value).map(([key, inner]) => `${printKey(key)} = ${printValue(inner)}`)];
}

const printKey = (key: string): string => (/^[\w-]+$/.test(key) ? key : printText(key));

/** JSON escapes everything that a basic string must not contain, except one character. */
const printText = (text: string): string => JSON.stringify(text).replaceAll('\u007F', String.raw`\u007F`);

function printValue(value: EntryValue[string]): string {
  if (typeof value === 'string') return printText(value);
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return `[${value.map(printText).join(', ')}]`;
  const inner = Object.entries(value).map(([key, each]) => `${printKey(key)} = ${printValue(each)}`);
  return `{ ${inner.join(', ')} }`;
}
