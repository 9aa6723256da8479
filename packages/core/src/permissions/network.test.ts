import { describe, expect, test } from 'vitest';
import type { RunConfig } from '@toolhive/contract/run-config';
import { networkOf } from './network.ts';

const web = [80, 443];
const hosts = ['api.example'];
const publicHosts = { kind: 'open', privateAddresses: [] };

describe('the network of a run config', () => {
  test.each<[string, RunConfig['permission_profile'], object]>([
    ['nothing said', {}, { kind: 'none' }],
    ['nothing allowed', { network: { outbound: {} } }, { kind: 'none' }],
    ['empty lists', { network: { outbound: { allow_host: [], allow_port: [] } } }, { kind: 'none' }],
    ['everything allowed', { network: { outbound: { insecure_allow_all: true } } }, publicHosts],
    [
      'a host allowed',
      { network: { outbound: { allow_host: hosts } } },
      { kind: 'rules', rules: { hosts, ports: web } },
    ],
    [
      'a port allowed',
      { network: { outbound: { allow_port: [443] } } },
      { kind: 'rules', rules: { ports: [443] } },
    ],
    [
      'both',
      { network: { outbound: { allow_host: hosts, allow_port: [5432] } } },
      { kind: 'rules', rules: { hosts, ports: [5432] } },
    ],
    ['mode none', { network: { mode: 'none', outbound: { insecure_allow_all: true } } }, { kind: 'none' }],
    ['mode bridge', { network: { mode: 'bridge', outbound: { insecure_allow_all: true } } }, publicHosts],
    [
      'private addresses beside everything',
      {
        network: {
          outbound: { insecure_allow_all: true, allow_host: ['a.example', '10.0.0.0/8', 'fd00::1'] },
        },
      },
      { kind: 'open', privateAddresses: ['10.0.0.0/8', 'fd00::1'] },
    ],
    ['mode host', { network: { mode: 'host' } }, { kind: 'mode', mode: 'host' }],
  ])('with %s', (_title, permission_profile, network) => {
    expect(networkOf({ permission_profile })).toEqual(network);
  });

  test.each<[string, RunConfig['permission_profile'], object]>([
    ['nothing else', {}, { hosts: [], ports: [], localPorts: [5432] }],
    ['mode none', { network: { mode: 'none' } }, { hosts: [], ports: [], localPorts: [5432] }],
    ['a host', { network: { outbound: { allow_host: hosts } } }, { hosts, ports: web, localPorts: [5432] }],
  ])('with a port of this machine and %s', (_title, permission_profile, rules) => {
    const runConfig = { permission_profile, local_ports: [5432] };
    const learning = { since: '2026-01-31T09:30:00.000Z' };

    expect(networkOf(runConfig)).toEqual({ kind: 'rules', rules });
    expect(networkOf({ ...runConfig, learning })).toMatchObject({ rules: { localPorts: [5432] } });
  });

  test('is open only if isolation is turned off', () => {
    const permission_profile = { network: { outbound: { allow_host: hosts } } };

    expect(networkOf({ permission_profile, isolate_network: false })).toEqual({
      kind: 'open',
      privateAddresses: 'all',
    });
    expect(networkOf({ permission_profile, isolate_network: true })).toMatchObject({ kind: 'rules' });
  });
});
