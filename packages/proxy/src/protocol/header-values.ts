/** The parameter that the header `Mcp-Name` repeats, by method (MCP 2026-07-28, Streamable HTTP, Request Metadata). */
export const namedBy: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};

const sentinel = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;

/** Decodes the value of a header, undefined if it is not valid (MCP 2026-07-28, Streamable HTTP, Value Encoding). */
export function decoded(value: string): string | undefined {
  if (!value.startsWith('=?base64?') || !value.endsWith('?=')) return value;
  const [, base64] = sentinel.exec(value) ?? [];
  return base64 === undefined || base64.length % 4 !== 0
    ? undefined
    : Buffer.from(base64, 'base64').toString('utf8');
}

/** Encodes a value for a header if it cannot stand there as it is. */
export function encoded(value: string): string {
  const isPlain =
    /^[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?$/.test(value) && !/^=\?base64\?.*\?=$/.test(value);
  return isPlain ? value : `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`;
}
