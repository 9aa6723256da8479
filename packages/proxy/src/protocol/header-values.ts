import { extensionRequests } from './extensions.ts';

/**
 * The parameter that the header `Mcp-Name` must repeat, by method (MCP 2026-07-28, Streamable HTTP, Request Metadata).
 */
export const namedBy: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};

/** The parameter that `Mcp-Name` repeats, also in requests of extensions, whose clients may leave the header out. */
export function nameParameter(method: string): string | undefined {
  return namedBy[method] ?? extensionRequests.get(method)?.namedBy;
}

const sentinel = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;

/**
 * Decodes a header value. Returns undefined if the value is invalid (MCP 2026-07-28, Streamable HTTP, Value
 * Encoding).
 */
export function decoded(value: string): string | undefined {
  if (!value.startsWith('=?base64?') || !value.endsWith('?=')) return value;
  const [, base64] = sentinel.exec(value) ?? [];
  return base64 === undefined || base64.length % 4 !== 0
    ? undefined
    : Buffer.from(base64, 'base64').toString('utf8');
}

/** Encodes a header value if it contains characters that headers do not allow. */
export function encoded(value: string): string {
  const isPlain =
    /^[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?$/.test(value) && !/^=\?base64\?.*\?=$/.test(value);
  return isPlain ? value : `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`;
}
