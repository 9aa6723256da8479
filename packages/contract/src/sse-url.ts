/** Whether a URL without a transport is that of a server with HTTP+SSE, which is usually at `/sse`. */
export function isSseUrl(url: string): boolean {
  return URL.parse(url)?.pathname.replace(/\/$/, '').endsWith('/sse') === true;
}
