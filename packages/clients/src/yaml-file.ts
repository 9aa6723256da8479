import type { ClientApplication } from '@toolhive/contract/client-application';
import { isAlias, isCollection, isMap, isScalar, isSeq, parseDocument } from 'yaml';
import type { Document, ParsedNode, YAMLSeq } from 'yaml';
import type { OpenFormat } from './entry-file.ts';
import { conflictAt } from './source.ts';
import type { Source } from './source.ts';
import { changeYaml } from './yaml-change.ts';
import { contentEnd, isBlank, spanOf } from './yaml-nodes.ts';
import type { Member, Place } from './yaml-nodes.ts';

/** Reads one YAML document. Edits are made in its text, so that comments, anchors and layout stay. */
export const openYaml: OpenFormat = (source, application) => {
  const document = parse(source);
  const place = follow(source, document.contents, application);
  const members = place.missing.length === 0 ? membersOf(place.node, application) : [];
  return {
    entries: new Map(
      members.flatMap(({ name, node }) =>
        name === undefined ? [] : [[name, node?.toJS(document) as unknown] as const],
      ),
    ),
    change: (changes) => changeYaml(source, place, members, application, changes),
    without: (names) => withoutEntries(document, application, names),
  };
};

function parse(source: Source): Document.Parsed {
  // The search for equal keys takes quadratic time, so only the relevant keys are compared here.
  const options = {
    keepSourceTokens: true,
    uniqueKeys: false,
    prettyErrors: false,
  } as const;
  const document = parseDocument(source.text, options);
  const [error] = document.errors;
  if (error !== undefined) {
    const isLater = error.code === 'MULTIPLE_DOCS';
    const what = isLater ? 'a second document begins here' : `this is not YAML: ${error.message}`;
    throw conflictAt(source, error.pos[0], what);
  }
  document.toJS({ mapAsMap: true }); // fails for undefined aliases and for aliases that expand without end
  return document;
}

function follow(source: Source, contents: ParsedNode | null, { pointer, storage }: ClientApplication): Place {
  let place: Place = { node: contents, pair: undefined, parent: undefined, missing: [] };
  for (const [depth, key] of pointer.entries()) {
    if (isBlank(place.node)) return { ...place, missing: pointer.slice(depth) };
    const { node } = place;
    if (!isMap(node)) throw notA(source, node, 'mapping', pointer[depth - 1]);
    const pairs = node.items.filter((pair) => isScalar(pair.key) && pair.key.value === key);
    const [pair, again] = pairs;
    if (again !== undefined) throw conflictAt(source, again.key.range[0], `the key ${key} occurs twice`);
    if (pair === undefined) return { ...place, missing: pointer.slice(depth) };
    place = { node: pair.value, pair, parent: node, missing: [] };
  }
  const isFitting = storage === 'map' ? isMap(place.node) : isSeq(place.node);
  if (isFitting || isBlank(place.node)) return place;
  throw notA(source, place.node, storage === 'map' ? 'mapping' : 'list', pointer.at(-1));
}

function notA(source: Source, node: ParsedNode | null, what: string, key: string | undefined): Error {
  const detail = isAlias(node) ? 'an alias of something else' : `not a ${what}`;
  return conflictAt(source, node?.range[0] ?? 0, `${key ?? 'the file'} is ${detail}`);
}

function membersOf(node: ParsedNode | null, { nameKey = 'name' }: ClientApplication): Member[] {
  if (!isCollection(node)) return [];
  return isMap(node)
    ? node.items.map((pair) => ({ ...named(pair.key), node: pair.value, span: spanOf(pair) }))
    : node.items.map((item, index) => ({
        ...named(isMap(item) ? item.get(nameKey, true) : undefined),
        node: item,
        span: { from: dashOf(node, index) ?? item.range[0], to: contentEnd(item) },
      }));
}

function named(node: unknown): { name: string | undefined } {
  return { name: isScalar(node) && typeof node.value === 'string' ? node.value : undefined };
}

/** Where an item of a block list begins: at its dash. */
function dashOf({ srcToken }: YAMLSeq.Parsed, index: number): number | undefined {
  if (srcToken?.type !== 'block-seq') return undefined;
  const dashes = srcToken.items.flatMap(
    ({ start }) => start.find(({ type }) => type === 'seq-item-ind') ?? [],
  );
  return dashes[index]?.offset;
}

function withoutEntries(
  document: Document.Parsed,
  { pointer, storage, nameKey = 'name' }: ClientApplication,
  names: ReadonlySet<string>,
): unknown {
  const all = (document.toJS({ mapAsMap: true }) ?? new Map()) as Map<string, unknown>;
  let parent = all;
  for (const key of pointer.slice(0, -1)) {
    parent.set(key, parent.get(key) ?? new Map());
    parent = parent.get(key) as Map<string, unknown>; // `follow` has seen that these are mappings
  }
  const last = pointer.at(-1) ?? '';
  if (storage === 'map') {
    const entries = (parent.get(last) ?? new Map()) as Map<unknown, unknown>;
    parent.set(last, new Map(entries.entries().filter(([name]) => !names.has(String(name)))));
  } else {
    const entries = (parent.get(last) ?? []) as unknown[];
    const isNamed = (item: unknown) => item instanceof Map && names.has(String(item.get(nameKey)));
    parent.set(
      last,
      entries.filter((item) => !isNamed(item)),
    );
  }
  return all;
}
