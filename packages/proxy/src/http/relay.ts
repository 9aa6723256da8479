import type { IncomingMessage } from 'node:http';

/** The header with the credentials for the workload. `Authorization` is for the API. */
export const relayAuthorization = 'x-workload-authorization';

/** What a workload gets of the headers of a relayed request. Everything else concerns the API. */
const relayed: ReadonlySet<string> = new Set([
  'accept',
  'accept-language',
  'content-length',
  'content-type',
  'last-event-id',
  'traceparent',
  'tracestate',
  'transfer-encoding',
  'user-agent',
]);

/**
 * Turns a request to the API into one to the endpoint of a workload at `host`: without cookies, without the credentials
 * for the API, and without anything that says where the page is from that made it, which the API has checked.
 */
export function addressToWorkload(request: IncomingMessage, host: string): void {
  const { rawHeaders } = request;
  const kept = ['Host', host];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const [name, value] = [rawHeaders[i] as string, rawHeaders[i + 1] as string]; // raw headers come in pairs
    const key = name.toLowerCase();
    if (key === relayAuthorization) kept.push('Authorization', value);
    else if (relayed.has(key) || key.startsWith('mcp-')) kept.push(name, value);
  }
  request.url = '/mcp';
  request.rawHeaders = kept;
  const { headers } = request;
  const authorization = headers[relayAuthorization];
  for (const name of Object.keys(headers)) {
    if (!relayed.has(name) && !name.startsWith('mcp-')) delete headers[name];
  }
  headers.host = host;
  if (typeof authorization === 'string') headers.authorization = authorization;
}
