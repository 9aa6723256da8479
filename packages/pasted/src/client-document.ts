import { parse as parseJson } from 'jsonc-parser';
import type { ParseError } from 'jsonc-parser';
import { parse as parseToml } from 'smol-toml';
import { parse as parseYaml } from 'yaml';
import { invalid } from '@toolhive/contract/failure';

/** The unparsed entries of a client's configuration, by name. */
export type RawEntries = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

/**
 * Finds the servers in a client's configuration: JSON with comments, YAML, or TOML. `what` names the configuration in
 * errors, which never quote its content, because it may contain credentials. Throws `invalid` if it has no servers.
 */
export function readClientDocument(text: string, what: string): RawEntries {
  const document = parseDocument(text.replace(/^\uFEFF/, ''), what);
  const entries = entriesIn(document);
  if (entries.size > 0) return entries;
  throw invalid(`${what} has no MCP servers`, {
    hint: `ToolHive looks for ${places.map((keys) => keys.join('.')).join(', ')}`,
  });
}

function parseDocument(text: string, what: string): unknown {
  // A README may show a part of a file: "name": {…}.
  const json = /^\s*"[^"]*"\s*:/.test(text) ? `{${text.replace(/,\s*$/, '')}}` : text;
  if (/^\s*([{[]|\/[/*])/.test(json)) {
    const errors: ParseError[] = [];
    const value: unknown = parseJson(json, errors, { allowTrailingComma: true });
    const [error] = errors;
    if (error === undefined) return value;
    if (!/^\s*\[/.test(json)) {
      const line = json.slice(0, error.offset).split('\n').length;
      throw invalid(`${what} is not JSON: syntax error in line ${line}`);
    }
  }
  const parsers = [() => parseToml(text), (): unknown => parseYaml(text, { maxAliasCount: 100 })];
  for (const parse of parsers) {
    try {
      const value = parse();
      if (isObject(value)) return value;
    } catch {
      // The other format may fit.
    }
  }
  throw invalid(`${what} is not JSON, YAML, or TOML`, { hint: 'check the file for syntax errors' });
}

/** The keys that lead to the servers in the files of clients. */
const places = [
  ['mcpServers'],
  ['servers'],
  ['mcp', 'servers'],
  ['amp.mcpServers'],
  ['context_servers'],
  ['mcp_servers'],
  ['extensions'],
  ['mcp'],
] as const;

function entriesIn(document: unknown): RawEntries {
  for (const keys of places) {
    const found = toEntries(keys.reduce(member, document));
    if (found.size > 0) return found;
  }
  return toEntries(document);
}

function member(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** A map by name, or a list of objects with a name. Everything that does not start or reach a server is left out. */
function toEntries(value: unknown): RawEntries {
  const all: (readonly [string, unknown])[] = Array.isArray(value)
    ? value.map((item: unknown) => [nameOf(item), item] as const)
    : isObject(value)
      ? Object.entries(value)
      : [];
  return new Map(
    all.flatMap(([name, entry]) =>
      isObject(entry) && entryKeys.some((key) => Object.hasOwn(entry, key)) ? [[name, entry] as const] : [],
    ),
  );
}

function nameOf(item: unknown): string {
  const name = member(item, 'name');
  return typeof name === 'string' ? name : '';
}

const entryKeys = ['command', 'cmd', 'url', 'serverUrl', 'httpUrl', 'uri'];

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
