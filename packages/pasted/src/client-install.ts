import { invalid } from '@toolhive/contract/failure';
import { readClientDocument } from './client-document.ts';
import type { ClientDocument } from './client-document.ts';
import { readSession } from './client-session.ts';
import { isObject, parseDocuments } from './parse-document.ts';

/** What an installation command or link contains: one server. Only a command with several servers for a session has more. */
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
  const session = readSession(words);
  if (session !== undefined) return { ...session, isHidden: false };
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

/** The links in Markdown and HTML, as a README has them around the picture of a badge. */
const inMarkup = /\]\(\s*<?([^()\s<>]+)>?[^()]*\)|\bhref\s*=\s*["']([^"']+)["']/g;

/** The installation link in the few lines of a badge. The text itself if there is none. */
export function withoutMarkup(text: string): string {
  if (text.length > 50_000 || text.split('\n', 6).length > 5) return text;
  const links = [...text.matchAll(inMarkup)].map(([, markdown, html]) => (markdown ?? html ?? '').trim());
  return links.find((link) => linkIn(link) !== undefined) ?? text;
}

/** The schemes and pages of clients' installation links. */
function linkIn(written: string): Parts | undefined {
  const text = written.replaceAll('&amp;', '&');
  const url = URL.parse(text);
  if (url === null) return undefined;
  const { protocol, searchParams: query, host } = url;
  const place = decoded(`${host}${url.pathname}`).replace(/^\/+|\/+$/g, '');
  if (protocol === 'goose:' && place.startsWith('extension')) return fromGoose(query);
  if (protocol !== 'https:') return protocol === 'http:' ? undefined : inScheme(url, place);
  if (/^(?:www\.)?cursor\.com$/.test(host))
    return /\/(?:install-mcp|mcp\/install)$/.test(place) ? fromQuery(query) : undefined;
  if (/^(?:lmstudio\.ai\/install-mcp|kiro\.dev\/launch\/mcp\/add)$/.test(place)) return fromQuery(query);
  if (place === 'block.github.io/goose/extension') return fromGoose(query);
  if (/^(?:insiders\.)?vscode\.dev$/.test(host)) {
    if (place.endsWith('/redirect/mcp/install')) return fromQuery(query);
    const inner = query.get('url');
    return place.endsWith('/redirect') && inner !== null ? linkIn(inner) : undefined;
  }
  return undefined;
}

/** `cursor://…/mcp/install?config=…`, `vscode:mcp/install?{…}`, `kiro://kiro.mcp/add?…`: only programs have these schemes. */
function inScheme(url: URL, place: string): Parts | undefined {
  if (!/(?:^|[/._-])(?:add[_-])?mcp(?:[/._-](?:install|add|import))?$/.test(place)) return undefined;
  const servers = url.searchParams.get('servers');
  if (servers !== null) return { entry: unpacked(servers) };
  if (url.searchParams.has('config')) return fromQuery(url.searchParams);
  const isJson = /^\?(?:\{|%7B)/i.test(url.search);
  if (isJson || /^vscode(?:-insiders)?:$/.test(url.protocol)) return { entry: decoded(url.search.slice(1)) };
  return /^(?:cursor|lmstudio|kiro):$/.test(url.protocol) ? fromQuery(url.searchParams) : undefined;
}

function fromQuery(query: URLSearchParams): Parts {
  const config = query.get('config') ?? '';
  if (config === '') throw invalid('the link contains no server', { hint: 'copy the complete link' });
  return {
    name: query.get('name') ?? undefined,
    entry: unpacked(config),
    inputs: query.get('inputs') ?? undefined,
  };
}

/** JSON as it is, or in Base64 (of the JSON as it is, or encoded once more for a URL). */
function unpacked(config: string): string {
  return /^\s*[{%]/.test(config) ? decoded(config) : decoded(Buffer.from(config, 'base64').toString());
}

function fromGoose(query: URLSearchParams): Parts {
  const [url, command] = [query.get('url'), query.get('cmd')];
  // The value is a description for the user.
  const env = query.getAll('env').map((text) => text.split('=', 1)[0] ?? '');
  const headers = query.getAll('header').map((text) => {
    const [name = ''] = text.split('=', 1);
    return [name, text.slice(name.length + 1)] as const;
  });
  const variables = env.map((name) => [name, `\${${name}}`] as const);
  const entry =
    url !== null
      ? { url, type: query.get('type') ?? undefined, headers: Object.fromEntries(headers) }
      : { command, args: query.getAll('arg'), env: Object.fromEntries(variables) };
  return { name: query.get('id') ?? query.get('name') ?? undefined, entry: JSON.stringify(entry) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // it contains a percent sign of its own
  }
}
