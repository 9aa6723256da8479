import { invalid } from '@toolhive/contract/failure';
import { freePort, isFreePort } from '@toolhive/runtime/free-port';

/**
 * A port for a proxy: the one that was asked for if it can be had, else a free one. It is claimed before it is looked
 * at, or two that look at the same time would both get it.
 */
export async function choosePort(
  host: string,
  asked: number | undefined,
  claim: (port: number) => boolean,
): Promise<number> {
  if (!asked) return freePort(host, claim);
  if (claim(asked) && (await isFreePort(host, asked))) return asked;
  throw invalid(`port ${asked} is in use`, { hint: 'leave the port out to have a free one chosen' });
}

/** Throws when nothing can listen on `host` here. */
export async function requireOwnAddress(host: string): Promise<void> {
  await isFreePort(host, 0);
}
