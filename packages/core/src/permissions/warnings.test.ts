import type { RuntimeLimit } from '@toolhive/runtime/runtime';
import { describe, expect, test } from 'vitest';
import { aRunConfig } from '../testing/run-config.ts';
import { warningsOf } from './warnings.ts';

describe('warnings', () => {
  const limits: RuntimeLimit[] = [
    { concerns: 'every server', text: 'of all' },
    { concerns: 'servers with mounts', text: 'of mounts' },
    { concerns: 'servers with an open network', text: 'of networks' },
    { concerns: 'servers with public hosts only', text: 'of public hosts' },
    { concerns: 'servers without network isolation', text: 'of everything' },
  ];

  test('tell of a runtime only what concerns the workload', () => {
    const mounts = aRunConfig({ volumes: ['/a:/b'] });
    const network = aRunConfig({
      permission_profile: { network: { outbound: { insecure_allow_all: true } } },
    });

    const everything = { ...network, isolate_network: false };

    expect(
      [aRunConfig(), mounts, network, everything].map((runConfig) => warningsOf(runConfig, limits)),
    ).toEqual([
      ['of all'],
      ['of all', 'of mounts'],
      ['of all', 'of networks', 'of public hosts'],
      ['of all', 'of networks', 'of everything'],
    ]);
  });

  test.each([
    ['runs privileged', { permission_profile: { privileged: true } }],
    ['shares this machine’s network', { permission_profile: { network: { mode: 'host' } } }],
    [
      'because network isolation is turned off',
      {
        isolate_network: false,
        permission_profile: { network: { outbound: { allow_host: ['api.example'] } } },
      },
    ],
    ['the socket of a container engine', { volumes: ['/var/run/docker.sock:/docker.sock'] }],
  ])('name what was asked for and is dangerous: %s', (text, changes) => {
    expect(warningsOf(aRunConfig(changes), [])).toEqual([expect.stringContaining(text)]);
  });
});
