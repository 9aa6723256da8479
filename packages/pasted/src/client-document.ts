import { invalid } from '@toolhive/contract/failure';
import { dockerQuestions, dockerServers } from './docker-catalog.ts';
import { hintFor, isApiDescription } from './document-hints.ts';
import { questionsIn, settingVariables } from './document-questions.ts';
import { uniqueNames } from './entry-names.ts';
import { serversOfManagers } from './other-managers.ts';
import { list } from './fields.ts';
import { isObject, objectsIn, parseDocuments, writtenKey } from './parse-document.ts';
import type { Input } from './placeholders.ts';

/** The servers in a client's configuration. */
export interface ClientDocument {
  entries: RawEntry[];
  /** The questions that the configuration asks. See `questionsIn`. */
  inputs: ReadonlyMap<string, Input>;
  /**
   * Whether the client turns a server off outside of its entry (Gemini CLI, Claude Code). The keys lead to its section,
   * unless that is at the top.
   */
  isOff: (name: string, keys?: readonly string[]) => boolean;
}

/** An entry that is not parsed yet. */
export interface RawEntry {
  /** The name in the configuration. Several entries can have the same. */
  name: string;
  /** A name for its workload, which no other entry has. */
  workload: string;
  notes: string[];
  entry: Readonly<Record<string, unknown>>;
}

/**
 * Finds the servers in a client's configuration: JSON with comments, YAML, TOML, or a page with these in fences. `what`
 * names the configuration in errors, which never quote its content, because it may contain credentials. Throws
 * `invalid` if it has no servers.
 */
export function readClientDocument(text: string, what: string): ClientDocument {
  const documents = parseDocuments(text, what);
  if (documents.some((document) => isDeeper(document, maxDepth)))
    throw invalid(`${what} is nested too deeply`);
  const found = withoutRepeated(documents.flatMap(entriesIn));
  if (found.length === 0) {
    throw invalid(`${what} has no MCP servers`, {
      hint:
        documents.map(hintFor).find((hint) => hint !== undefined) ??
        (documents.some((document) => hasEmptySection(document, []))
          ? 'its section for servers is empty'
          : undefined) ??
        `ToolHive looks for ${[...everywhere, ...atTheTop, 'mcp.servers'].join(', ')}`,
    });
  }
  return {
    entries: withLost(uniqueNames(found), documents.flatMap(besideSections)),
    inputs: new Map(
      documents.flatMap((document) => [...dockerQuestions(document), ...questionsIn(document)]),
    ),
    isOff: (name, keys = []) => documents.some((document) => isOffOn(keys, document, name)),
  };
}

const maxDepth = 64;

function isDeeper(value: unknown, than: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return than === 0 || Object.values(value).some((inner) => isDeeper(inner, than - 1));
}

export interface Found {
  name: string;
  /** The keys that lead to the entry. */
  path: readonly string[];
  entry: Readonly<Record<string, unknown>>;
}

/** The keys for sections with servers, at any place: clients have sections for projects, profiles, and extensions. */
const everywhere = ['mcpServers', 'mcp_servers', 'context_servers', 'modelContextProtocolServers'];
/** The same in other spellings, such as `mcp-servers`. */
const sectionName = /^(?:mcp|context|modelContextProtocol)[-_]?servers$/i;
/** The same for keys that mean other things elsewhere. */
const atTheTop = ['servers', 'mcp', 'mcps', 'extensions'];

function isSection(key: string, path: readonly string[]): boolean {
  if (path.length === 1 && path[0] === 'services') return false; // the name of a service in Docker Compose
  // Some editors have dots in the names of their settings: `amp.mcpServers`, `mcp.servers`.
  const [last = '', before = path.at(-1) ?? ''] = key.split('.').toReversed();
  if (sectionName.test(last) || /^(?:stdio|sse|s?http)_servers$/.test(last)) return true;
  return (last === 'servers' && /(?:^|\.)mcp$/.test(before)) || (path.length === 0 && atTheTop.includes(key));
}

function entriesIn(document: unknown): Found[] {
  if (isApiDescription(document)) return [];
  const described = [...dockerServers(document), ...serversOfManagers(document)];
  if (described.length > 0) return described;
  const found = sectionsIn(document, []);
  if (found.length > 0) return withSettings(found, document);
  if (isEntry(document)) return [{ name: nameOf(document), path: [], entry: document }];
  const quoted = sectionsInTexts(document);
  if (quoted.length > 0) return quoted;
  return isMapOfServers(document) ? toEntries(document, []) : [];
}

/**
 * The sections in texts, such as the settings that a workflow passes to a client, or a file in a ConfigMap. They count only
 * if a document has no others, because texts can also be instructions with examples.
 */
function sectionsInTexts(document: unknown): Found[] {
  return textsIn(document)
    .filter((text) => /(?:mcp|context)[-_]?servers["']?\s{0,20}:/i.test(text))
    .flatMap(objectsIn)
    .filter((value) => !isDeeper(value, maxDepth))
    .flatMap((value) => sectionsIn(value, []));
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/**
 * The names of the entries beside a section, which a misplaced bracket leaves there, and which clients do not find. Only
 * fields that nothing but a server has count.
 */
function besideSections(document: unknown): string[] {
  if (Array.isArray(document)) return document.flatMap(besideSections); // several objects, one after another
  if (!isObject(document) || !Object.keys(document).some((key) => sectionName.test(writtenKey(key))))
    return [];
  return Object.entries(document).flatMap(([key, value]) => {
    if (!isObject(value) || !/^[\w.@/ -]{1,60}$/.test(key)) return [];
    const { command, args, url, type } = value;
    const isStarted = typeof command === 'string' && Array.isArray(args);
    const isReached = isUrl(url) && /^(?:sse|(?:streamable[-_]?)?http)$/i.test(String(type));
    return isStarted || isReached ? [key] : [];
  });
}

function withLost(entries: readonly RawEntry[], lost: readonly string[]): RawEntry[] {
  if (lost.length === 0) return [...entries];
  const note = `the section for servers ends before ${lost.slice(0, 8).join(', ')}, which ToolHive did not import. Check the brackets of the file`;
  return entries.map((entry, index) =>
    index === entries.length - 1 ? { ...entry, notes: [...entry.notes, note] } : entry,
  );
}

/**
 * Whether a document without a section can be a map of servers. A plugin or package manifest has texts, such as its
 * version, and its addresses are not those of servers. Client settings have programs that
 * print a line or react to an event, which have the type `command`.
 */
function isMapOfServers(document: unknown): boolean {
  if (!isObject(document)) return true; // a list
  return Object.entries(document).every(
    ([key, value]) =>
      isRemark(key) ||
      (typeof value === 'object' ? !(isObject(value) && value['type'] === 'command') : isUrl(value)),
  );
}

const isRemark = (key: string): boolean => /^(?:[$_#]|\/\/)|^(?:comment|description)$/i.test(key);

/** Whether a document has a section for servers without one. */
function hasEmptySection(value: unknown, path: readonly string[]): boolean {
  if (!isObject(value)) return false;
  return Object.entries(value).some(([written, inner]) => {
    const key = writtenKey(written);
    const isEmpty = inner === null || (typeof inner === 'object' && Object.keys(inner).length === 0);
    return (isSection(key, path) && isEmpty) || hasEmptySection(inner, [...path, key]);
  });
}

/** The most variables for an extension and all its servers together. The largest known one has a dozen. */
const maxSettings = 5_000;

/** The servers of an extension with the variables that its settings are for, unless the entry has another place for them. */
function withSettings(found: readonly Found[], document: unknown): Found[] {
  const settings = Object.entries(settingVariables(document));
  if (settings.length === 0 || settings.length * found.length > maxSettings) return [...found];
  return found.map((each) => {
    const { env = {}, command } = each.entry;
    if (command === undefined || !isObject(env)) return each;
    const written = JSON.stringify(each.entry);
    const others = settings.filter(([, placeholder]) => !written.includes(placeholder));
    return { ...each, entry: { ...each.entry, env: { ...Object.fromEntries(others), ...env } } };
  });
}

/** Some clients name the servers that are off, or those that are on, beside the section with all of them. */
function offBeside(value: unknown): (name: string) => boolean {
  const own = isObject(value) ? value : {};
  const mcp = isObject(own['mcp']) ? own['mcp'] : {};
  const off = new Set([
    ...['excluded', 'disabledMcpServers'].flatMap((key) => list(mcp[key])),
    ...['excludeMCPServers', 'disabledMcpServers', 'disabledMcpjsonServers'].flatMap((key) => list(own[key])),
  ]);
  const only = [mcp['allowed'], own['allowMCPServers']].map((names) => new Set(list(names)));
  return (name) => off.has(name) || only.some((names) => names.size > 0 && !names.has(name));
}

/** Whether a list in one of the objects that lead to a section turns a server off. */
function isOffOn(keys: readonly string[], document: unknown, name: string): boolean {
  if (offBeside(document)(name)) return true;
  const [key, ...others] = keys;
  return key !== undefined && isObject(document) && isOffOn(others, document[key], name);
}

function sectionsIn(value: unknown, path: readonly string[]): Found[] {
  if (Array.isArray(value)) return value.flatMap((item: unknown) => sectionsIn(item, path));
  if (!isObject(value) || isEntry(value)) return [];
  const isOff = offBeside(value);
  const found = Object.entries(value).flatMap(([written, inner]) => {
    const key = writtenKey(written);
    if (key === 'exampleConfig') return []; // what a user of the described server could configure
    const here = [...path, key];
    const isServers = isSection(key, path) && !isSchema(inner);
    const own = isServers ? unquoted(inner) : key === 'tools' ? remoteTools(inner) : undefined;
    return [...(own === undefined ? [] : toEntries(own, here)), ...sectionsIn(inner, here)];
  });
  return found.map((each) =>
    isOff(each.name) ? { ...each, entry: { ...each.entry, disabled: true } } : each,
  );
}

/** Whether an object is the JSON schema of a section, such as in the file of a directory of servers. */
function isSchema(section: unknown): boolean {
  return isObject(section) && ['object', 'array', 'string'].includes(section['type'] as string);
}

/** Some settings contain the section as a text: `"mcpServers": "[{\"name\": …}]"`. */
function unquoted(section: unknown): unknown {
  if (typeof section !== 'string' || !/^\s*[{[]/.test(section)) return section;
  try {
    const inner = JSON.parse(section) as unknown;
    return isDeeper(inner, maxDepth) ? section : inner;
  } catch {
    return section; // the name of a file can begin like that
  }
}

/** The servers among the tools of a request to a model. */
function remoteTools(tools: unknown): unknown {
  const all: unknown[] = Array.isArray(tools) ? tools : [];
  return all.filter((tool) => isObject(tool) && tool['type'] === 'mcp');
}

/** A map by name, or a list of objects with a name. Everything that does not start or reach a server is left out. */
function toEntries(value: unknown, path: readonly string[]): Found[] {
  const all: (readonly [string, unknown])[] = Array.isArray(value)
    ? value.flatMap(namedItem)
    : isObject(value)
      ? Object.entries(value).map(([key, inner]) => [writtenKey(key), inner] as const)
      : [];
  // In a section for servers only, an entry without a server is a mistake of its author, who should know.
  const isStrict = /^(?:.*\.)?(?:mcp|context)[-_]?servers$/i.test(path.at(-1) ?? '');
  return all.flatMap(([name, given]) => {
    if (name.startsWith('$')) return []; // "$schema"
    // Visual Studio Code's section in another one: `"chat.mcpServers": {"servers": {…}, "inputs": […]}`. Others repeat the name.
    if (isStrict && (name === 'servers' || sectionName.test(name)) && !isEntry(given))
      return toEntries(given, [...path, name]);
    const entry = (isStrict && !Array.isArray(value)) || isUrl(given) ? asEntry(given) : given;
    return isEntry(entry) || (isStrict && isObject(entry)) ? [{ name, path, entry }] : [];
  });
}

/** A command or a URL as a text: `"fetch": "uvx mcp-server-fetch"`, `"fetch": ["uvx", "mcp-server-fetch"]`. */
function asEntry(value: unknown): unknown {
  if (Array.isArray(value) && value.length > 1 && value.every((word) => typeof word === 'string'))
    return { command: value };
  if (typeof value !== 'string') return value;
  if (isUrl(value)) return { url: value };
  return /\S\s+\S/.test(value) ? { command: value } : value;
}

function isUrl(value: unknown): boolean {
  return typeof value === 'string' && /^https?:\/\/\S+$/i.test(value);
}

/** An item with its name in it, or `{NAME: ITEM}`. */
function namedItem(item: unknown): (readonly [string, unknown])[] {
  const [only, ...others] = isObject(item) && !isEntry(item) ? Object.entries(item) : [];
  const isNamed = only !== undefined && others.length === 0 && isEntry(only[1]);
  return isNamed ? [[writtenKey(only[0]), only[1]]] : [[nameOf(item), item]];
}

function nameOf(item: unknown): string {
  const { name, id, server_label, info } = isObject(item) ? item : {};
  const names = [name, id, server_label, ...(isObject(info) ? [info['name'], info['id']] : [])];
  return (names.find((text) => typeof text === 'string' && text !== '') as string | undefined) ?? '';
}

/** The names for the URL of a remote server. */
export const urlKeys = [
  'url',
  'serverUrl',
  'httpUrl',
  'uri',
  'server_url',
  'baseUrl',
  'endpoint',
  'sse_url',
] as const;
/** The others mean many things outside of a section for servers. */
const entryKeys = ['command', 'cmd', 'url', 'serverUrl', 'httpUrl', 'uri', 'server_url'];
/** Some clients put the command or the URL one level deeper. */
export const innerKeys = ['command', 'transport', 'config', 'server'];

function isEntry(value: unknown): value is Record<string, unknown> {
  if (!isObject(value)) return false;
  const isFilled = (object: Record<string, unknown>): boolean =>
    entryKeys.some((key) => {
      const inner = Object.hasOwn(object, key) ? object[key] : undefined;
      return typeof inner === 'string' || typeof inner === 'number' || Array.isArray(inner);
    });
  return (
    isFilled(value) ||
    innerKeys.some((key) => {
      const inner = value[key];
      return isObject(inner) && (isFilled(inner) || typeof inner['path'] === 'string');
    })
  );
}

/** The same server in two places is one server. */
function withoutRepeated(found: readonly Found[]): Found[] {
  const seen = new Set<string>();
  return found.filter(({ name, entry }) => {
    const key = JSON.stringify([name, entry]);
    return !seen.has(key) && seen.add(key);
  });
}
