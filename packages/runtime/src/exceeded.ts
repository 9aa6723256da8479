import { allowMore, describeResource } from '@toolhive/contract/resources';
import type { ResourceLimits } from './runtime.ts';

/** A limit that ends a server. */
export type Exceeded = 'memory' | 'pids' | 'disk';

/** Describes a limit that was exceeded, as a phrase that continues "the server". */
export function describeExcess(
  exceeded: Exceeded,
  {
    memoryBytes,
    processes,
    temporaryBytes,
  }: Pick<ResourceLimits, 'memoryBytes' | 'processes' | 'temporaryBytes'>,
): string {
  if (exceeded === 'memory') return `used more than ${describeResource('memory', memoryBytes)} of memory`;
  if (exceeded === 'disk')
    return `stored more than ${describeResource('disk', temporaryBytes)} in the temporary volumes of its image`;
  return `started more than ${processes} processes and threads`;
}

/** The same as the reason for the end of a server, with the flag that allows more. */
export function excessReason(exceeded: Exceeded, limits: ResourceLimits): string {
  return `${describeExcess(exceeded, limits)}; ${allowMore(exceeded)}`;
}
