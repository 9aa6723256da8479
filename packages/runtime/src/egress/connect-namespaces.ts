import { embeddedProgram } from '../embedded-program.ts';
import { RESOLVER_ADDRESS, SERVER_ADDRESS, SHARED_GATEWAY_ADDRESS } from './link-addresses.ts';
import type { EgressTools } from './tools.ts';

/** How a namespace is prepared. `embedded/connect-namespaces.sh` describes each step. */
export type NamespaceStep =
  | { step: 'connect' | 'share' | 'listen' }
  /** `device` is the name of the end of the link that is for the server. */
  | { step: 'prepare'; device: string }
  /** `pid` is a process in the namespace that the end is taken from. */
  | { step: 'fetch'; pid: number; device: string }
  /** `address` is that of the sandbox, and `device` is the name of the gateway's end of the link. */
  | { step: 'join'; address: string; device: string };

/** What the program writes at last, in a line. */
export const outcomes = { connected: 'connected', failed: 'failed' };

/** The arguments of a shell that prepares a namespace and becomes `program`. */
export function connectNamespaces(
  { ip, nsenter }: Pick<EgressTools, 'ip' | 'nsenter'>,
  step: NamespaceStep,
  program: readonly string[],
): string[] {
  const addresses = [RESOLVER_ADDRESS, SERVER_ADDRESS, SHARED_GATEWAY_ADDRESS];
  const settings = [step.step, ip, nsenter, ...addresses, ...parametersOf(step)];
  return ['-c', embeddedProgram('connect-namespaces.sh'), 'sh', ...settings, ...program];
}

function parametersOf(step: NamespaceStep): [first: string, device: string] {
  if (step.step === 'prepare') return ['', step.device];
  if (step.step === 'fetch') return [String(step.pid), step.device];
  if (step.step === 'join') return [step.address, step.device];
  return ['', ''];
}
