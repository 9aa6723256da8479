import { describe, expect, test } from 'vitest';
import { launchParts } from '../testing/launch-parts.ts';
import { aRunConfig } from '../testing/run-config.ts';
import { launchOf } from './launch.ts';

describe('a launch', () => {
  test('carries the labels of the workload, and none that would take the place of ours', () => {
    const labels = { team: 'red', 'toolhive-port': '1' };

    const launch = launchOf(aRunConfig({ container_labels: labels }), launchParts);

    expect(launch.labels).toEqual({ team: 'red', 'toolhive-port': '12345', 'toolhive-transport': 'stdio' });
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
