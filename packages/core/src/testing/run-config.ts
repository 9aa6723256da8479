import type { RunConfig } from '@toolhive/contract/run-config';

/** A run config of a local server that speaks stdio. */
export function aRunConfig(changes: Partial<RunConfig> = {}): RunConfig {
  return {
    schema_version: 'v0.1.0' as const,
    name: 'echo',
    base_name: 'echo',
    container_name: 'echo',
    image: 'npx://example@1.0.0',
    transport: 'stdio',
    host: '127.0.0.1',
    port: 12_345,
    ...changes,
  };
}
