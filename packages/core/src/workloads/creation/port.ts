import { checkField, invalid } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import { freePort, isFreePort } from '@toolhive/runtime/free-port';
import type { Draft } from './draft.ts';
import type { Reservation } from '../workloads.ts';

type Address = Pick<Draft, 'host' | 'port' | 'hasAutomaticPort'>;
type ChosenPort = Pick<RunConfig, 'port' | 'automatic_port'>;

/**
 * Chooses a proxy port: the requested one, or a free one. Throws `invalid` if the requested port is in use, unless ToolHive
 * chose it on another machine. Claims the port before testing it, so that two simultaneous requests cannot get the same
 * one.
 */
export async function choosePort(
  { host, port: requested, hasAutomaticPort }: Address,
  { claim }: Reservation,
): Promise<ChosenPort> {
  if (!requested)
    return { port: await checkField('/host', () => freePort(host, claim)), automatic_port: true };
  if (claim(requested) && (await checkField('/host', () => isFreePort(host, requested))))
    return hasAutomaticPort ? { port: requested, automatic_port: true } : { port: requested };
  if (hasAutomaticPort) return { port: await freePort(host, claim), automatic_port: true };
  throw invalid(`port ${requested} is in use`, { hint: 'omit the port, and ToolHive chooses a free port' });
}

/** Chooses another port if another program has taken the chosen one in the meantime. An installation takes minutes. */
export async function chooseAgain(runConfig: RunConfig, { claim }: Reservation): Promise<RunConfig> {
  const { host, port, automatic_port: isAutomatic } = runConfig;
  if (isAutomatic !== true || (await isFreePort(host, port))) return runConfig;
  return { ...runConfig, port: await freePort(host, claim) };
}

/** Chooses an existing workload's port: its current one unless another is requested. */
export async function keepOrChoosePort(
  address: Address,
  reservation: Reservation,
  present: RunConfig,
): Promise<ChosenPort> {
  if (address.port && address.port !== present.port) return choosePort(address, reservation);
  if (address.host !== present.host) await isFreePort(address.host, 0); // throws if this machine does not have the address
  const { port, automatic_port = false } = present;
  return { port, automatic_port };
}
