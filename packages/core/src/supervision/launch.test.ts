import { describe, expect, test } from 'vitest';
import { launchParts } from '../testing/launch-parts.ts';
import { aRunConfig } from '../testing/run-config.ts';
import { launchOf } from './launch.ts';

describe('a launch', () => {
  test('carries the labels of the workload, and none that would replace our labels', () => {
    const labels = { team: 'red', 'toolhive-port': '1' };

    const launch = launchOf(aRunConfig({ container_labels: labels }), launchParts);

    expect(launch.labels).toEqual({ team: 'red', 'toolhive-port': '12345', 'toolhive-transport': 'stdio' });
  });

  test('has the limits of the run config, and otherwise the defaults', () => {
    const { limits } = launchOf(aRunConfig({ resources: { memory: '512m', disk: '1g' } }), launchParts);

    expect(limits).toEqual({
      memoryBytes: 512 * 1024 ** 2,
      cpus: 2,
      processes: 512,
      openFiles: 4096,
      diskBytes: 1024 ** 3,
      temporaryBytes: 512 * 1024 ** 2, // no more than the memory that it takes
    });
  });

  test('is refused with an absurd limit, instead of having none', () => {
    const runConfig = aRunConfig({ resources: { memory: 'unlimited' } });

    expect(() => launchOf(runConfig, launchParts)).toThrow('"unlimited" is not a size');
  });

  test('tells an HTTP server its port, and lets the request have the last word', () => {
    const { env, transport } = launchOf(
      aRunConfig({ transport: 'sse', target_port: 9000, env_vars: { FASTMCP_PORT: '1' } }),
      launchParts,
    );

    expect(env).toEqual({ MCP_TRANSPORT: 'sse', MCP_PORT: '9000', FASTMCP_PORT: '1' });
    expect(transport).toEqual({ kind: 'http', targetPort: 9000 });
  });
});
