/** The headers that concern one connection only (RFC 9110, section 7.6.1), or name its host, in lower case. */
export const hopHeaders: ReadonlySet<string> = new Set([
  'connection',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
