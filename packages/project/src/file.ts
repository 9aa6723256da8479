import { createHash } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { invalid, tooLarge } from '@toolhive/contract/failure';
import type { ThvError } from '@toolhive/contract/failure';
import { WorkloadName } from '@toolhive/contract/names';
import { ProjectFile, ProjectGroup, ProjectServer, maxProjectFile } from '@toolhive/contract/project';
import { readClientDocument } from '@toolhive/pasted/client-document';
import type { ClientDocument, RawEntry } from '@toolhive/pasted/client-document';
import { repeatedKey } from '@toolhive/pasted/yaml-keys';
import canonicalize from 'canonicalize';
import { LineCounter, isAlias, isMap, isScalar, parseAllDocuments, visit } from 'yaml';
import type { Document } from 'yaml';

/** A server as its project file describes it. */
export type FileServer = { name: string; settings: string } & (
  { form: 'project'; server: ProjectServer } | { form: 'client'; entry: RawEntry }
);

/** A project file after its syntax has been checked. Nothing of it is trusted. */
export interface ParsedFile {
  name: string;
  servers: FileServer[];
  groups: Readonly<Record<string, ProjectGroup>>;
  inputs: ClientDocument['inputs'];
}

/** Reads a project file, or the configuration of an MCP client. Throws `invalid` with the line. */
export function parseFile(text: string, path: string): ParsedFile {
  const file = basename(path);
  if (text.length > maxProjectFile) throw tooLarge(`${file} has more than ${maxProjectFile} characters`);
  return isProjectFile(text, file) ? parseProject(text, path) : parseClientFile(text, path);
}

/** The directory that relative paths start from: the one around `.vscode` and the like. */
export function directoryOf(path: string): string {
  const own = dirname(path);
  return /^\.[a-z]/i.test(basename(own)) ? dirname(own) : own;
}

const isProjectFile = (text: string, file: string): boolean =>
  /^toolhive\.(?:ya?ml|json)$/i.test(file) ||
  (!/\.jsonc?$/i.test(file) && !/^\s*[{[/]/.test(text) && /^(?:version|servers)\s*:/m.test(text));

function parseClientFile(text: string, path: string): ParsedFile {
  const { entries, inputs } = readClientDocument(text, basename(path));
  const seen = new Set<string>();
  for (const { name } of entries) {
    if (seen.has(name))
      throw invalid(`${basename(path)} has two servers with the name ${quoted(name)}`, {
        hint: 'rename one of them',
      });
    seen.add(name);
  }
  const enabled = entries.filter(({ entry }) => entry['disabled'] !== true && entry['enabled'] !== false);
  const servers = enabled.map((entry): FileServer => {
    const name = entry.name === '' ? entry.workload : entry.name;
    return { form: 'client', name, entry, settings: hashOf(entry.entry) };
  });
  return { name: directoryName(path), servers, groups: {}, inputs };
}

function parseProject(text: string, path: string): ParsedFile {
  const file = basename(path);
  const lines = new LineCounter();
  // The keys are compared later.
  const options = { lineCounter: lines, uniqueKeys: false, merge: false, prettyErrors: false };
  const [document, second] = parseAllDocuments(text, options);
  if (document === undefined || !('contents' in document) || document.contents === null)
    throw invalid(`${file} is empty`, { hint: `begin with version: 1 and servers:` });
  if (second !== undefined) throw invalid(`${file} has several YAML documents`, { hint: 'use one' });
  const [error] = document.errors;
  if (error !== undefined) {
    const [first = ''] = error.message.split('\n', 1);
    throw invalid(
      `${file} is not YAML: ${first.replace(/:$/, '').replace(/ at line.*$/, '')} (line ${lines.linePos(error.pos[0]).line})`,
    );
  }
  const repeated = repeatedKey(document);
  if (repeated !== undefined)
    throw invalid(
      `${file} is not YAML: Map keys must be unique (line ${lines.linePos(repeated.range?.[0] ?? 0).line})`,
    );
  refuseTricks(document, file, lines);
  const parsed = ProjectFile.safeParse(document.toJS({ maxAliasCount: 0 }));
  if (!parsed.success) throw explained(parsed.error.issues, document, file, lines);
  const { name = directoryName(path), servers, groups = {}, inputs = [] } = parsed.data;
  return {
    name,
    groups,
    servers: Object.entries(servers).map(([server, value]): FileServer => {
      return { form: 'project', name: server, server: value, settings: hashOf(value) };
    }),
    inputs: new Map(
      inputs.map(({ id, description = '', password = false, default: preset }) => [
        id,
        { description, secret: password, default: preset },
      ]),
    ),
  };
}

/** Refuses syntax that lets a file grow, or mean something else than a reader sees. */
function refuseTricks(document: Document.Parsed, file: string, lines: LineCounter): void {
  const refuse = (what: string, range: readonly number[] | null | undefined): never => {
    throw invalid(`${file} uses ${what} (line ${lines.linePos(range?.[0] ?? 0).line})`, {
      hint: 'write out the values',
    });
  };
  const [warning] = document.warnings;
  if (warning !== undefined) refuse('a tag', warning.pos); // the only cause of warnings
  visit(document, {
    Node(_key, node) {
      if (isAlias(node)) refuse('an alias', node.range);
      if ('anchor' in node && node.anchor !== undefined) refuse('an anchor', node.range);
      if (node.tag !== undefined && !node.tag.startsWith('tag:yaml.org,2002:')) refuse('a tag', node.range);
    },
    Pair(_key, { key }) {
      const range = isScalar(key) || isMap(key) ? key.range : undefined;
      if (!isScalar(key)) refuse('a key that is not text', range);
      else if (['<<', '__proto__', 'constructor', 'prototype'].includes(String(key.value)))
        refuse(`the key ${String(key.value)}`, range);
    },
  });
}

type Issues = NonNullable<ReturnType<typeof ProjectFile.safeParse>['error']>['issues'];

/** The first problem, with its line. A key that does not exist may be a misspelled one. */
function explained(issues: Issues, document: Document.Parsed, file: string, lines: LineCounter): ThvError {
  // A misspelled key is the reason for a missing one.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0];
  const path = issue?.path ?? [];
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  const whole = unknown === undefined ? path : [...path, unknown];
  const line = lineOf(document, whole, lines);
  const place = path.length === 0 ? '' : `${path.map(String).join('.').slice(0, 200)}: `;
  if (unknown !== undefined) {
    const known = knownKeys(path);
    const meant = nearest(unknown, known);
    throw invalid(`${file}: ${place}unknown key ${quoted(unknown)} (line ${line})`, {
      hint: meant === undefined ? `the keys are ${known.join(', ')}` : `did you mean ${meant}?`,
    });
  }
  const isAbsent = path.length > 0 && document.getIn(path) === undefined;
  const reason = issue?.code === 'invalid_key' ? issue.issues[0]?.message : issue?.message;
  const what = isAbsent ? 'missing' : (reason ?? 'invalid');
  return invalid(`${file}: ${place}${what} (line ${line})`, {
    hint: 'see the format: thv export --format project writes such a file',
  });
}

/** The line of the nearest node on the way to a place. */
function lineOf(document: Document.Parsed, path: readonly PropertyKey[], lines: LineCounter): number {
  for (let length = path.length; length > 0; length -= 1) {
    const parent: unknown =
      length === 1 ? document.contents : document.getIn(path.slice(0, length - 1), true);
    if (!isMap(parent)) {
      const item: unknown = document.getIn(path.slice(0, length), true);
      if (isScalar(item) || isMap(item)) return lines.linePos(item.range?.[0] ?? 0).line;
      continue;
    }
    const pair = parent.items.find(({ key }) => isScalar(key) && key.value === path[length - 1]);
    if (pair !== undefined && isScalar(pair.key)) return lines.linePos(pair.key.range?.[0] ?? 0).line;
  }
  return 1;
}

function knownKeys(path: readonly PropertyKey[]): string[] {
  if (path.length === 0) return Object.keys(ProjectFile.shape).filter((key) => key !== '$schema');
  if (path.length !== 2) return [];
  const { shape } = path[0] === 'groups' ? ProjectGroup : ProjectServer;
  return Object.keys(shape);
}

/** A longer key is not a misspelling. */
const longestKey = 100;

/** Other words for keys, from requests and from clients. */
const synonyms: Readonly<Record<string, string>> = {
  command: 'source',
  image: 'source',
  url: 'source',
  package: 'source',
  cmd_arguments: 'args',
  arguments: 'args',
  env_vars: 'env',
  environment: 'env',
  permission_profile: 'permissions',
  tools_filter: 'tools',
};

/** The key that differs least, if the difference is small. The time grows with the length of the word, which a file chooses. */
function nearest(word: string, known: readonly string[]): string | undefined {
  if (word.length > longestKey) return undefined;
  const words = [...known, ...Object.keys(synonyms)].map((key) => ({
    key: Object.hasOwn(synonyms, key) ? synonyms[key] : key,
    far: distance(word.toLowerCase(), key.toLowerCase()),
  }));
  const [best] = words
    .filter(({ key = '' }) => known.includes(key))
    .toSorted((one, other) => one.far - other.far);
  return best !== undefined && best.far <= Math.max(1, word.length / 3) ? best.key : undefined;
}

/** The Levenshtein distance. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let index = 0; index < one.length; index += 1) {
    const next = [index + 1];
    for (let column = 1; column <= other.length; column += 1) {
      const change = (row[column - 1] ?? 0) + (other[column - 1] === one[index] ? 0 : 1);
      next.push(Math.min(change, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}

function directoryName(path: string): string {
  const name = basename(directoryOf(path))
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replaceAll(/\.{2,}/g, '.')
    .replaceAll(/^[^A-Za-z0-9]+|[-.]+$/g, '')
    .slice(0, 80);
  return WorkloadName.safeParse(name).success ? name : 'project';
}

/** Identifies content. */
export function hashOf(value: unknown): string {
  return createHash('sha256')
    .update(canonicalize(value) ?? '')
    .digest('hex');
}

export const quoted = (text: string): string => JSON.stringify(text.slice(0, 100));
