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
 * Converts an API request to a request to a workload's endpoint at `host`. Removes cookies, API credentials, and the
 * page's origin, which the API has already checked.
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
