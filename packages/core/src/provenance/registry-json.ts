import { getCACertificates } from 'node:tls';
import { messageOf, unavailable } from '@toolhive/contract/failure';
import { parseJson } from '@toolhive/contract/json-text';
import { guardedFetch } from '../fetch/guarded-fetch.ts';

export interface RegistryRequest {
  signal: AbortSignal;
  accept?: string;
  maxBytes?: number;
  /** Certificate authorities to trust besides the usual ones, as PEM. */
  certificates?: string | undefined;
}

const MAX_BYTES = 1024 * 1024;
const TIMEOUT_MS = 15_000;

/**
 * Fetches JSON from a registry that the user has configured, which may be on a private network. A redirect leads only to
 * the same registry or to a public address. Returns undefined if the registry has nothing there.
 */
export async function fetchFromRegistry(address: URL, request: RegistryRequest): Promise<unknown> {
  const { signal, accept = 'application/json', maxBytes = MAX_BYTES, certificates } = request;
  const options = {
    headers: { accept },
    followRedirects: false,
    maxBytes,
    timeoutMs: TIMEOUT_MS,
    signal,
    ...(certificates === undefined ? {} : { ca: [...getCACertificates('default'), certificates] }),
  };
  let answer = await guardedFetch(address.href, { ...options, allowPrivate: true });
  const location = answer.status >= 300 && answer.status < 400 ? answer.headers['location'] : undefined;
  if (typeof location === 'string') {
    const next = new URL(location, address);
    answer = await guardedFetch(next.href, { ...options, allowPrivate: next.origin === address.origin });
  }
  const name = `${address.origin}${address.pathname}`;
  if (answer.status === 404 || answer.status === 410) return undefined;
  if (answer.status !== 200) throw unavailable(`${name} answered with status ${answer.status}`);
  try {
    return parseJson(answer.text, name, { maxDepth: 64 });
  } catch (cause) {
    throw unavailable(messageOf(cause), { cause });
  }
}
