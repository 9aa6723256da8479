import { apiConnections, faults } from '@toolhive/proxy/connections';
import type { ConnectionLimits, FaultStatus } from '@toolhive/proxy/connections';
import { plainText } from './failures.ts';
import { fixedHeaders } from './guards.ts';

/** How much patience the API has with its callers. */
export const defaultLimits: ConnectionLimits = {
  headersMs: 10_000,
  requestMs: 60_000,
  stalledMs: 60_000,
  connections: apiConnections,
};

/** The answer to a request that no application could be given. */
export function faultResponse(status: FaultStatus): Response {
  return new Response(`${faults[status]}\n`, {
    status,
    headers: { ...fixedHeaders, 'content-type': plainText },
  });
}
