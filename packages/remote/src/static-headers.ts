import { invalid } from '@toolhive/contract/failure';
import { hopHeaders } from '@toolhive/proxy/hop-headers';
import { parseReference } from '@toolhive/secrets/reference';
import type { RemoteAuthConfig } from './settings.ts';

/** Headers about the connection or the sender, which only the proxy may set. */
const reserved: ReadonlySet<string> = new Set([
  ...hopHeaders,
  'content-length',
  'content-type',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
]);

/**
 * The headers of every request, by lowercase names. The run config contains a secret header only as a reference,
 * `NAME,target=HEADER`.
 */
export async function staticHeaders(
  headers: RemoteAuthConfig['headers'],
  resolveSecret: (name: string) => Promise<string>,
): Promise<Record<string, string>> {
  const resolved: Record<string, string> = {};
  for (const { name, default: given, secret, required } of headers ?? []) {
    const key = name.toLowerCase();
    if (reserved.has(key)) throw invalid(`the header ${name} cannot be configured`);
    if (!given && required) throw invalid(`the header ${name} needs a value`);
    if (!given) continue;
    const value = secret ? await resolveSecret(parseReference(given).name) : given;
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      throw invalid(`the value of the header ${name} contains invalid characters`);
    }
    resolved[key] = value.trim();
  }
  return resolved;
}
