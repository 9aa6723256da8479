import { messageOf, unavailable } from '@toolhive/contract/failure';
import { parseJson } from '@toolhive/contract/json-text';
import { trustedCertificates } from '@toolhive/runtime/system-trust';
import { guardedFetch } from '@toolhive/outgoing/guarded-fetch';
import type { GuardedResponse } from '@toolhive/outgoing/guarded-fetch';

export interface RegistryRequest {
  signal: AbortSignal;
  accept?: string;
  maxBytes?: number;
  /** Certificate authorities to trust besides the usual ones, as PEM. */
  certificates?: string | undefined;
  /** Names the corporate proxy. By default, the environment of this process. */
  env?: NodeJS.ProcessEnv | undefined;
}

const MAX_BYTES = 1024 * 1024;
const TIMEOUT_MS = 15_000;

/**
 * Fetches from a registry that the user has configured, which may be on a private network. A redirect leads only to the
 * same registry or to a public address, and without the headers that are for the registry.
 */
export async function fetchConfigured(
  address: URL,
  { signal, accept = 'application/json', maxBytes = MAX_BYTES, certificates, env }: RegistryRequest,
  headers: Record<string, string> = {},
): Promise<GuardedResponse> {
  const options = {
    followRedirects: false,
    maxBytes,
    timeoutMs: TIMEOUT_MS,
    signal,
    env,
    ...(certificates === undefined ? {} : { ca: trustedCertificates(certificates) }),
  };
  const first = await guardedFetch(address.href, {
    ...options,
    headers: { ...headers, accept },
    allowPrivate: true,
  });
  const location = first.status >= 300 && first.status < 400 ? first.headers['location'] : undefined;
  if (typeof location !== 'string') return first;
  const next = new URL(location, address);
  const isSame = next.origin === address.origin;
  return guardedFetch(next.href, {
    ...options,
    headers: { ...(isSame ? headers : {}), accept },
    allowPrivate: isSame,
  });
}

/** Fetches JSON from a registry that the user has configured. Returns undefined if the registry has nothing there. */
export async function fetchFromRegistry(address: URL, request: RegistryRequest): Promise<unknown> {
  return readJson(await fetchConfigured(address, request), address);
}

/** The JSON in an answer. Undefined if there is nothing. */
export function readJson({ status, text }: Pick<GuardedResponse, 'status' | 'text'>, address: URL): unknown {
  const name = `${address.origin}${address.pathname}`;
  if (status === 404 || status === 410) return undefined;
  if (status !== 200) throw unavailable(`${name} returned status ${status}`);
  try {
    return parseJson(text, name, { maxDepth: 64 });
  } catch (cause) {
    throw unavailable(messageOf(cause), { cause });
  }
}
