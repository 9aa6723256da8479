import { expect, test } from 'vitest';
import { refusePrivateEntry } from './entry-address.ts';
import type { RemoteSource } from './source.ts';

const entry = { name: 'listed' } as NonNullable<RemoteSource['entry']>; // its name alone is looked at

const resolve = async (host: string) => (host === 'inside.example.com' ? ['10.1.2.3'] : ['93.184.216.34']);

test.each([
  'http://127.0.0.1:8080/api/v1beta/workloads/other/stop',
  'http://[::1]:8080/mcp',
  'http://[::ffff:127.0.0.1]:8080/mcp',
  'http://2130706433/mcp',
  'http://169.254.169.254/latest',
  'https://inside.example.com/mcp',
])('refuses a registry entry that leads to %s', async (address) => {
  const refusing = refusePrivateEntry({ url: new URL(address), entry }, {}, resolve);

  await expect(refusing).rejects.toMatchObject({
    kind: 'invalid',
    message: expect.stringContaining('the registry entry listed leads to'),
    hint: expect.stringContaining('run it by its URL'),
  });
});

test.each([
  ['an entry that leads outside', 'https://mcp.example.com/', { entry }, {}],
  ['a URL that the user named', 'http://127.0.0.1:8080/mcp', {}, {}],
  ['an entry of a file', 'http://127.0.0.1:8080/mcp', { entry }, { local_registry_path: '/registry.json' }],
  ['an entry of a private registry', 'http://10.0.0.1/mcp', { entry }, { allow_private_registry_ip: true }],
])('allows %s', async (_title, address, remote, settings) => {
  const checking = refusePrivateEntry({ url: new URL(address), ...remote }, settings, resolve);

  await expect(checking).resolves.toBeUndefined();
});
