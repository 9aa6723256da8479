import { availableParallelism } from 'node:os';
import type { ResourceLimits } from './runtime.ts';

/** What getting a package ready may use: enough for the largest Go modules. */
export const installationLimits: ResourceLimits = {
  memoryBytes: 4 * 1024 ** 3,
  processes: 1024,
  openFiles: 16_384,
  cpus: availableParallelism(),
  diskBytes: 4 * 1024 ** 3,
  temporaryBytes: 256 * 1024 ** 2,
};
