import { printable } from '@toolhive/contract/printable';

/** The ways in which servers can read a URI. */
export interface UriReadings {
  /** The spellings of the canonical form. Empty if readers could disagree about the resource. */
  canonical: readonly string[];
  /** Further URIs that some servers treat as the same resource. */
  others: readonly string[];
}

/** Longer URIs have no canonical form. */
const maxLength = 8_192;

/** A URI in its canonical form: decoded, except for characters that would then separate parts. */
interface Parts {
  scheme: string;
  /** With the slashes. Empty for `scheme:/path` and for opaque URIs. */
  authority: string;
  path: string;
  /** With the question mark, or empty. */
  query: string;
  /** With the number sign, or empty. */
  fragment: string;
}

/** Readers could disagree about a URI. */
class Ambiguous extends Error {}

/**
 * Returns how servers can read a URI. Servers compare URIs as text, parse them by RFC 3986 or by the URL standard, or
 * cut them in pieces, and many paths then reach a file system.
 */
export function readingsOf(uri: string): UriReadings {
  try {
    const parts = partsOf(uri, '');
    const root = isRoot(parts) ? [{ ...parts, path: '' }] : [];
    const canonical = [parts, partsOf(uri, reserved), ...root].flatMap(spellingsOf);
    return { canonical: unique(canonical), others: unique(variantsOf(parts).flatMap(spellingsOf)) };
  } catch (error) {
    if (error instanceof Ambiguous) return { canonical: [], others: [] };
    throw error;
  }
}

/** The characters that RFC 3986 does not decode, although many servers do. */
const reserved = ":/?#[]@!$&'()*+,;=";

/** Splits a URI, and decodes its parts except for the characters in `kept`. Throws `Ambiguous`. */
function partsOf(uri: string, kept: string): Parts {
  const hasHidden = /[\t\n\\]/.test(uri) || printable(uri) !== uri || uri.trim() !== uri;
  const [, name = '', rest = ''] = /^([a-z][a-z0-9+.-]*):(.*)$/i.exec(uri) ?? [];
  const [, authority = '', written = '', query = '', fragment = ''] =
    /^(\/\/[^/?#]*)?([^?#]*)(\?[^#]*)?(#.*)?$/.exec(rest) ?? [];
  if (uri.length > maxLength || hasHidden || name === '' || `${authority}${written}` === '')
    throw new Ambiguous();
  const scheme = name.toLowerCase();
  // An opaque path, as in `note:a`, has no segments that could be removed.
  const isOpaque = authority === '' && !written.startsWith('/');
  const path = decoded(written, `?#${kept}`);
  if (isOpaque && path.split('/').some(isDots)) throw new Ambiguous();
  const parts: Parts = {
    scheme,
    authority,
    path: isOpaque ? opaquePath(scheme, path) : path,
    query: query === '?' ? '' : decoded(query, `#&=+;${kept}`, true),
    fragment: fragment === '#' ? '' : decoded(fragment, kept, true),
  };
  const canonical = (schemes.get(scheme) ?? otherScheme)(parts);
  return isOpaque ? canonical : { ...canonical, path: withoutDots(canonical.path) };
}

/** Schemes whose URIs every reader understands in the same way. */
const schemes = new Map([
  ['file', fileUri],
  ['skill', skillUri],
  ...['http', 'https', 'ws', 'wss', 'ftp'].map((scheme) => [scheme, webUri] as const),
]);

/** A file of this machine (RFC 8089). Some servers ignore other hosts, and queries. */
function fileUri({ scheme, authority, path, query, fragment }: Parts): Parts {
  const isLocal = ['', '//', '//localhost'].includes(authority.toLowerCase());
  const hasOther = !path.startsWith('/') || query !== '' || fragment !== '';
  // File systems leave a directory with `//..`, URLs only the empty segment.
  const isTwofold = path.includes('//') && path.split('/').includes('..');
  if (!isLocal || hasOther || isTwofold) throw new Ambiguous();
  return { scheme, authority: '//', path: path.replace(/\/{2,}/g, '/'), query, fragment };
}

/** A URI of the web. The fragment is not part of the resource (RFC 3986, section 3.5). */
function webUri({ scheme, authority, path, query }: Parts): Parts {
  const url = /^\/\/[^@]+$/.test(authority) ? URL.parse(`${scheme}:${authority}/`) : null;
  const host = url?.hostname.replace(/(?<!\.)\.+$/, '') ?? '';
  if (url === null || host === '') throw new Ambiguous();
  const port = url.port === '' ? '' : `:${url.port}`;
  return { scheme, authority: `//${host}${port}`, path: path === '' ? '/' : path, query, fragment: '' };
}

/** A file of a skill (SEP-2640, Resource Mapping). The authority is the first segment of its path, and nothing else. */
function skillUri(parts: Parts): Parts {
  const { authority, path } = otherScheme(parts);
  const isSegment = /^\/\/[^@:]*[^@:.]$/.test(authority);
  if (!isSegment || path.split('/').some((segment) => segment.trim() !== segment)) throw new Ambiguous();
  return { ...parts, authority };
}

/** A URI that only its server understands. Many servers cut off the scheme and use the rest as a path. */
function otherScheme(parts: Parts): Parts {
  const authority = decoded(parts.authority, '?#@:');
  if (isDots(authority.slice(2)) || parts.path.split('/').includes('..')) throw new Ambiguous();
  return { ...parts, authority };
}

/** The namespace of a URN is case-insensitive (RFC 8141, section 3.1). */
function opaquePath(scheme: string, path: string): string {
  return scheme === 'urn' ? path.replace(/^[^:]*/, (namespace) => namespace.toLowerCase()) : path;
}

const isDots = (segment: string): boolean => segment === '.' || segment === '..';

/** Removes dot segments (RFC 3986, section 5.2.4). */
function withoutDots(path: string): string {
  if (path === '') return '';
  const kept: string[] = [];
  const segments = path.split('/').slice(1);
  for (const segment of segments) {
    if (segment === '..') kept.pop();
    if (!isDots(segment)) kept.push(segment);
  }
  return `/${kept.join('/')}${isDots(segments.at(-1) ?? '') && kept.length > 0 ? '/' : ''}`;
}

/**
 * Decodes a part of a URI, except for the `structural` characters and percent signs. Slashes that are written with
 * percent signs separate segments in some readers only, except in a query or a fragment.
 */
function decoded(part: string, structural: string, hasSlashes = false): string {
  if (/%(?![0-9a-f]{2})/i.test(part)) throw new Ambiguous();
  const text = part
    .replace(/(?:%[0-9a-f]{2})+/gi, (run) => textOf(run, structural, hasSlashes))
    .normalize('NFC');
  // Readers that decode twice would find another character.
  if (/%25[0-9a-f]{2}/i.test(text)) throw new Ambiguous();
  return text;
}

function textOf(run: string, structural: string, hasSlashes: boolean): string {
  let text: string;
  try {
    text = decodeURIComponent(run);
  } catch {
    throw new Ambiguous(); // not UTF-8
  }
  if (printable(text) !== text || /[\t\n]/.test(text)) throw new Ambiguous();
  if (!hasSlashes && /[/\\]/.test(text)) throw new Ambiguous();
  return Array.from(text, (character) =>
    character === '%' || structural.includes(character) ? percent(character) : character,
  ).join('');
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

function isRoot({ scheme, path, query }: Parts): boolean {
  return schemes.get(scheme) === webUri && path === '/' && query === '';
}

/** What some readers make of a URI, although they should not. */
function variantsOf(parts: Parts): Parts[] {
  const { authority, path, query, fragment } = parts;
  const simple: Parts = {
    ...parts,
    authority: authority.toLowerCase(),
    path: path.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, ''),
  };
  return [
    { ...simple, path },
    simple,
    ...(query === '' ? [] : [{ ...simple, query: '', fragment: '' }]),
    ...(fragment === '' ? [] : [{ ...simple, fragment: '' }]),
    ...(authority === '//' ? [{ ...simple, authority: '' }] : []),
    ...(authority === '' && path.startsWith('/') ? [{ ...simple, authority: '//' }] : []),
  ];
}

/** The decoded and the encoded spelling of a URI (RFC 3987, section 3.1, and RFC 3986, section 2.1). */
function spellingsOf({ scheme, authority, path, query, fragment }: Parts): string[] {
  const text = `${scheme}:${authority}${path}${query}${fragment}`;
  return [text, text.replace(/[\s"<>`{}^]|\P{ASCII}/gu, encodeURIComponent)];
}

const unique = (texts: readonly string[]): string[] => [...new Set(texts)];
