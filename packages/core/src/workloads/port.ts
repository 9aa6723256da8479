import { invalid } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import { freePort, isFreePort } from '@toolhive/runtime/free-port';
import type { Draft } from './draft.ts';
import type { Reservation } from './workloads.ts';

type Address = Pick<Draft, 'host' | 'port'>;

/**
 * Chooses the port of a proxy: the requested one, or a free one. Throws `invalid` if the requested port is in use. The
 * port is claimed before it is looked at, or two simultaneous requests could get the same one.
 */
export async function choosePort(
  { host, port: requested }: Address,
  { claim }: Reservation,
): Promise<number> {
  if (!requested) return freePort(host, claim);
  if (claim(requested) && (await isFreePort(host, requested))) return requested;
  throw invalid(`port ${requested} is in use`, { hint: 'leave the port out to have a free one chosen' });
}

/** Chooses the port of a workload that has one: its own unless another is requested. */
export async function keepOrChoosePort(
  address: Address,
  reservation: Reservation,
  present: RunConfig,
): Promise<number> {
  if (address.port && address.port !== present.port) return choosePort(address, reservation);
  if (address.host !== present.host) await isFreePort(address.host, 0); // throws if this machine does not have the address
  return present.port;
}
