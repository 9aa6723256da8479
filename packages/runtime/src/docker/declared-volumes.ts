import { excessReason } from '../exceeded.ts';
import { measurements } from '../measurements.ts';
import type { ResourceLimits } from '../runtime.ts';
import type { Inspected } from './container.ts';
import type { Engine } from './engine.ts';
import { volumeSizes, type HomeVolume } from './homes.ts';

const INTERVAL_MS = 5_000;

/** The volumes of a container that ToolHive did not ask for: those that its image declares. They end with the container. */
export function declaredVolumes({ Mounts }: Inspected, own: readonly HomeVolume[]): string[] {
  return (Mounts ?? []).flatMap(({ Type, Name }) =>
    Type === 'volume' && Name && !own.some(({ name }) => name === Name) ? [Name] : [],
  );
}

/**
 * Measures the declared volumes of a container, which are on the disk of the engine, and which no engine limits. Resolves
 * with the reason to end the server if it stores more in them than it may in temporary files. Resolves with undefined when
 * the signal aborts.
 */
export async function watchVolumes(
  engine: Engine,
  volumes: readonly string[],
  limits: ResourceLimits,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (volumes.length === 0) return undefined;
  const measure = () => volumeSizes(engine, volumes);
  for await (const bytes of measurements(measure, { intervalMs: INTERVAL_MS, signal })) {
    if (bytes > limits.temporaryBytes) return excessReason('disk', limits);
  }
  return undefined;
}
