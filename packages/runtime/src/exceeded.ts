import { allowMore, describeResource } from '@toolhive/contract/resources';
import type { ResourceLimits } from './runtime.ts';

/** A limit that ends a server. */
export type Exceeded = 'memory' | 'pids';

/** Describes a limit that was exceeded, as a phrase that continues "the server". */
export function describeExcess(
  exceeded: Exceeded,
  { memoryBytes, processes }: Pick<ResourceLimits, 'memoryBytes' | 'processes'>,
): string {
  if (exceeded === 'memory') return `used more than ${describeResource('memory', memoryBytes)} of memory`;
  return `started more than ${processes} processes and threads`;
}

/** The same as the reason for the end of a server, with the flag that allows more. */
export function excessReason(exceeded: Exceeded, limits: ResourceLimits): string {
  return `${describeExcess(exceeded, limits)}; ${allowMore(exceeded)}`;
}
