/** Whether a URL without a transport is that of a server with HTTP+SSE, which is usually at `/sse`. */
export function isSseUrl(url: string): boolean {
  return URL.parse(url)?.pathname.replace(/\/$/, '').endsWith('/sse') === true;
}

/** What to use instead of a WebSocket URL, which MCP clients and servers don't have. */
export const insteadOfWebSocket =
  'use the URL of the server for streamable HTTP or SSE, which begins with https://';
