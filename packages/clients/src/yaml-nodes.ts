import type { ParsedNode, YAMLMap, YAMLSeq } from 'yaml';
import { isCollection, isPair, isScalar } from 'yaml';
import type { Span } from './comma-list.ts';

type Mapping = YAMLMap.Parsed;
export type Collection = Mapping | YAMLSeq.Parsed;
export type Pair = Mapping['items'][number];

/** Where the entries are, or how far the way to them goes. */
export interface Place {
  node: ParsedNode | null;
  /** The parent of the node. Undefined for the root. */
  pair: Pair | undefined;
  /** The mapping that the pair is in. */
  parent: Mapping | undefined;
  /** The keys that do not exist yet. */
  missing: readonly string[];
}

/** Any entry in the file. */
export interface Member {
  name: string | undefined;
  node: ParsedNode | null;
  span: Span;
}

export function isBlank(node: ParsedNode | null): boolean {
  return node === null || (isScalar(node) && node.value === null);
}

export function spanOf({ key, value }: Pair): Span {
  return { from: key.range[0], to: contentEnd(value ?? key) };
}

/** The end of a node's last content, before the comments that follow. */
export function contentEnd(node: ParsedNode): number {
  if (!isCollection(node)) return node.range[1];
  const last = node.items.at(-1);
  if (last === undefined || node.srcToken?.type === 'flow-collection') return node.range[1];
  return isPair(last) ? spanOf(last).to : contentEnd(last);
}

export function isFlow(node: ParsedNode | null): node is Collection {
  return isCollection(node) && node.srcToken?.type === 'flow-collection';
}

export function columnOf(node: Collection): number {
  const { srcToken } = node;
  return srcToken !== undefined && 'indent' in srcToken ? srcToken.indent : 0;
}
