import { describe, expect, test } from 'vitest';
import { networkOf } from './network.ts';

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
