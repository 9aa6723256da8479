import { invalid } from '@toolhive/contract/failure';
import { readClientDocument } from './client-document.ts';
import type { ClientDocument } from './client-document.ts';
import { isObject, parseDocuments } from './parse-document.ts';

/** What an installation command or link contains: one server. */
export interface Installation extends ClientDocument {
  /** Whether the content is encoded, so that its reader did not see what runs. */
  isHidden: boolean;
}

/**
 * Reads what adds a server to a client in one step: a command with the entry as JSON (`claude mcp add-json NAME JSON`,
 * `code --add-mcp JSON`), or an installation link, as on a badge in a README. Undefined for anything else. Throws
 * `invalid` without quoting the entry, which may contain credentials.
 */
export function readInstallation(words: readonly string[]): Installation | undefined {
  const [first = '', ...rest] = words;
  const link = rest.length === 0 ? linkIn(first) : undefined;
  if (link !== undefined) return { ...entryFrom(link, 'the link'), isHidden: true };
  const command = commandIn(first, rest);
  return command && { ...entryFrom(command, command.what), isHidden: false };
}

/** The parts of an installation before they are parsed. */
interface Parts {
  name?: string | undefined;
  entry: string;
  inputs?: string | undefined;
}

function entryFrom({ name, entry, inputs }: Parts, what: string): ClientDocument {
  const [parsed] = parseDocuments(entry, what);
  // Some put the entry in its section, as in the client's file.
  const named =
    name !== undefined && isObject(parsed) && isServer(parsed) ? { mcpServers: { [name]: parsed } } : parsed;
  const own = isObject(named) && isServer(named) ? { mcpServers: { [nameOf(named)]: named } } : named;
  const asked: unknown = inputs === undefined ? [] : parseDocuments(inputs, what)[0];
  const inner: unknown = isObject(parsed) ? parsed['inputs'] : [];
  const all = [asked, inner].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []));
  const document = readClientDocument(JSON.stringify({ ...(isObject(own) ? own : {}), inputs: all }), what);
  if (document.entries.length === 1) return document;
  throw invalid(`${what} has ${document.entries.length} servers`, {
    hint: 'use thv import for several servers',
  });
}

const isServer = (value: Record<string, unknown>): boolean =>
  ['command', 'url', 'serverUrl', 'httpUrl'].some((key) => value[key] !== undefined);

const nameOf = ({ name }: Record<string, unknown>): string => (typeof name === 'string' ? name : 'server');

const editors = /^(?:code|vscode|code-insiders|codium|vscodium|cursor|windsurf|positron|kiro|trae)$/;
const jsonClients = /^(?:claude|openclaw|mcporter|auggie)$/;

function commandIn(program: string, rest: readonly string[]): (Parts & { what: string }) | undefined {
  const base = program.replace(/^.*[\\/]/, '').replace(/\.(?:cmd|exe)$/i, '');
  if (editors.test(base)) {
    const at = rest.findIndex((word) => /^--add-mcp(?:=|$)/.test(word));
    if (at === -1) return undefined;
    const word = rest[at] ?? '';
    const entry = word.includes('=') ? word.slice(word.indexOf('=') + 1) : rest[at + 1];
    return { what: 'the value of --add-mcp', entry: required(entry, `${base} --add-mcp`) };
  }
  if (!jsonClients.test(base) || rest[0] !== 'mcp' || !/^(?:add-json|set)$/.test(rest[1] ?? ''))
    return undefined;
  const plain = rest.slice(2).filter((word, index, all) => {
    const before = all[index - 1] ?? '';
    return !word.startsWith('-') && !/^(?:-s|--scope)$/.test(before);
  });
  const [name, entry] = plain;
  return { what: 'the JSON of the server', name, entry: required(entry, `${base} mcp add-json`) };
}

function required(entry: string | undefined, command: string): string {
  if (entry !== undefined && entry.trim() !== '') return entry;
  throw invalid(`${command} needs the JSON of a server`, {
    hint: 'paste the complete command, with the quotes',
  });
}

/** The schemes and pages of clients' installation links. */
function linkIn(text: string): Parts | undefined {
  const url = URL.parse(text);
  if (url === null) return undefined;
  const { protocol, searchParams: query, pathname } = url;
  if (
    /^vscode(?:-insiders)?:$/.test(protocol) &&
    /^\/*mcp\/install$/.test(`${url.host}${pathname}`.replace(/^\/+/, ''))
  )
    return { entry: decoded(url.search.slice(1)) };
  if (/^cursor:$/.test(protocol) && pathname.endsWith('/mcp/install')) return fromQuery(query);
  if (/^lmstudio:$/.test(protocol) && `${url.host}${pathname}`.startsWith('add_mcp')) return fromQuery(query);
  if (/^goose:$/.test(protocol) && `${url.host}${pathname}`.startsWith('extension')) return fromGoose(query);
  if (protocol !== 'https:') return undefined;
  if (/^(?:www\.)?cursor\.com$/.test(url.host) && pathname.endsWith('/install-mcp')) return fromQuery(query);
  if (/^(?:insiders\.)?vscode\.dev$/.test(url.host)) {
    if (pathname.endsWith('/redirect/mcp/install')) return fromQuery(query);
    const inner = query.get('url');
    return pathname.endsWith('/redirect') && inner !== null ? linkIn(inner) : undefined;
  }
  return undefined;
}

function fromQuery(query: URLSearchParams): Parts {
  const config = query.get('config') ?? '';
  if (config === '') throw invalid('the link contains no server', { hint: 'copy the complete link' });
  return {
    name: query.get('name') ?? undefined,
    // JSON as it is, or in Base64 (of the JSON as it is, or encoded once more for a URL).
    entry: /^\s*[{%]/.test(config) ? decoded(config) : decoded(Buffer.from(config, 'base64').toString()),
    inputs: query.get('inputs') ?? undefined,
  };
}

function fromGoose(query: URLSearchParams): Parts {
  const [url, command] = [query.get('url'), query.get('cmd')];
  const env = query.getAll('env').map((text) => [text.split('=', 1)[0] ?? '', ''] as const);
  const entry =
    url !== null
      ? { url, type: query.get('type') ?? undefined }
      : { command, args: query.getAll('arg'), env: Object.fromEntries(env) };
  return { name: query.get('id') ?? query.get('name') ?? undefined, entry: JSON.stringify(entry) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // it contains a percent sign of its own
  }
}
