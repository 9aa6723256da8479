import { describe, expect, test } from 'vitest';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { RuntimeLimit } from '@toolhive/runtime/runtime';
import { launchOf, warningsOf } from './launch.ts';
import { networkOf } from './network.ts';

function aRunConfig(changes: Partial<RunConfig> = {}): RunConfig {
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

describe('the network of a launch', () => {
  test.each([
    ['nothing said', {}, { kind: 'none' }],
    ['nothing allowed', { network: { outbound: {} } }, { kind: 'none' }],
    ['empty lists', { network: { outbound: { allow_host: [], allow_port: [] } } }, { kind: 'none' }],
    ['everything allowed', { network: { outbound: { insecure_allow_all: true } } }, { kind: 'open' }],
    ['a host allowed', { network: { outbound: { allow_host: ['api.example'] } } }, { kind: 'open' }],
    ['mode none', { network: { mode: 'none', outbound: { insecure_allow_all: true } } }, { kind: 'none' }],
    [
      'mode bridge',
      { network: { mode: 'bridge', outbound: { insecure_allow_all: true } } },
      { kind: 'open' },
    ],
    ['mode host', { network: { mode: 'host' } }, { kind: 'mode', mode: 'host' }],
  ])('with %s', (_title, profile, network) => {
    expect(networkOf(profile)).toEqual(network);
  });
});

describe('a launch', () => {
  test('carries the labels of the workload, and none that would take the place of ours', () => {
    const labels = { team: 'red', 'toolhive-port': '1' };

    const launch = launchOf(aRunConfig({ container_labels: labels }), [], {}, () => {});

    expect(launch.labels).toEqual({ team: 'red', 'toolhive-port': '12345', 'toolhive-transport': 'stdio' });
  });

  test('tells an HTTP server its port, and lets the request have the last word', () => {
    const { env, transport } = launchOf(
      aRunConfig({ transport: 'sse', target_port: 9000, env_vars: { FASTMCP_PORT: '1' } }),
      [],
      {},
      () => {},
    );

    expect(env).toEqual({ MCP_TRANSPORT: 'sse', MCP_PORT: '9000', FASTMCP_PORT: '1' });
    expect(transport).toEqual({ kind: 'http', targetPort: 9000 });
  });
});

describe('warnings', () => {
  const limits: RuntimeLimit[] = [
    { concerns: 'every server', text: 'of all' },
    { concerns: 'servers with mounts', text: 'of mounts' },
    { concerns: 'servers with a network', text: 'of networks' },
  ];

  test('tell of a runtime only what concerns the workload', () => {
    const mounts = aRunConfig({ volumes: ['/a:/b'] });
    const network = aRunConfig({
      permission_profile: { network: { outbound: { insecure_allow_all: true } } },
    });

    expect([aRunConfig(), mounts, network].map((runConfig) => warningsOf(runConfig, limits))).toEqual([
      ['of all'],
      ['of all', 'of mounts'],
      ['of all', 'of networks'],
    ]);
  });

  test.each([
    ['runs privileged', { permission_profile: { privileged: true } }],
    ['shares this machine’s network', { permission_profile: { network: { mode: 'host' } } }],
    [
      'are not enforced without network isolation',
      { permission_profile: { network: { outbound: { allow_host: ['api.example'] } } } },
    ],
    ['the socket of a container engine', { volumes: ['/var/run/docker.sock:/docker.sock'] }],
  ])('name what was asked for and is dangerous: %s', (text, changes) => {
    expect(warningsOf(aRunConfig(changes), [])).toEqual([expect.stringContaining(text)]);
  });
});
