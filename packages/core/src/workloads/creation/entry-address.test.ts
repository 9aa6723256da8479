import { describe, expect, test } from 'vitest';
import type { Lookup } from '@toolhive/outgoing/way-out';
import { draftOf } from './draft.ts';
import { refusePrivateEntry, withRegistryHosts } from './entry-address.ts';
import type { RemoteSource } from './source.ts';

const entry = { name: 'listed' } as NonNullable<RemoteSource['entry']>; // nothing else is looked at
const draft = draftOf({}, {});

const lookup: Lookup = (host, _options, done) =>
  done(null, [{ address: host === 'inside.example.com' ? '10.1.2.3' : '93.184.216.34', family: 4 }]);

test.each([
  'http://127.0.0.1:8080/api/v1beta/workloads/other/stop',
  'http://[::1]:8080/mcp',
  'http://[::ffff:127.0.0.1]:8080/mcp',
  'http://2130706433/mcp',
  'http://169.254.169.254/latest',
  'http://0.0.0.0:8080/mcp',
  'https://inside.example.com/mcp',
])('refuses a registry entry that leads to %s', async (address) => {
  const refusing = refusePrivateEntry({ url: new URL(address), entry }, draft, {}, lookup);

  await expect(refusing).rejects.toMatchObject({
    kind: 'invalid',
    message: expect.stringContaining('the registry entry listed leads to'),
    hint: expect.stringContaining('run it by its URL'),
  });
});

test.each([
  ['an entry that leads outside', 'https://mcp.example.com/', { entry }, {}, ['mcp.example.com']],
  ['a URL that the user named', 'http://127.0.0.1:8080/mcp', {}, {}, []],
  [
    'an entry of a file',
    'http://127.0.0.1:8080/mcp',
    { entry },
    { local_registry_path: '/registry.json' },
    [],
  ],
  [
    'an entry on this machine of a registry on this machine',
    'http://127.0.0.1:8080/mcp',
    { entry },
    { registry_url: 'http://localhost:9/registry.json', allow_private_registry_ip: true },
    [],
  ],
  [
    'an entry of a private registry',
    'http://10.0.0.1/mcp',
    { entry },
    { allow_private_registry_ip: true },
    [],
  ],
])('allows %s', async (_title, address, remote, settings, hosts) => {
  const checking = refusePrivateEntry({ url: new URL(address), ...remote }, draft, settings, lookup);

  await expect(checking).resolves.toEqual(hosts);
});

describe('whatever the registry may contain,', () => {
  const privately = { registry_url: 'https://registry.inside.example', allow_private_registry_ip: true };
  const onThisMachine = { ...privately, registry_url: 'http://127.0.0.1:9/registry.json' };
  const file = { local_registry_path: '/registry.json' };
  const metadata: Lookup = (_host, _options, done) => done(null, [{ address: '169.254.169.254', family: 4 }]);

  test.each([
    'http://169.254.169.254/latest/meta-data',
    'http://2852039166/',
    'http://[::ffff:a9fe:a9fe]/',
    'http://[fd00:ec2::254]/',
    'http://100.100.100.200/',
    'http://168.63.129.16/',
    'http://metadata.example/',
  ])('no entry leads to %s', async (address) => {
    for (const settings of [privately, onThisMachine, file]) {
      const refusing = refusePrivateEntry({ url: new URL(address), entry }, draft, settings, metadata);

      await expect(refusing).rejects.toThrow(/which is (?:a link-local|a cloud metadata)/);
    }
  });

  test('no entry of a private registry leads to this machine', async () => {
    const url = new URL('http://127.0.0.1:8080/mcp');

    const refusing = refusePrivateEntry({ url, entry }, draft, privately, lookup);

    await expect(refusing).rejects.toThrow('which is a loopback address');
  });
});

describe('the oauth_config of a registry entry', () => {
  const url = new URL('https://mcp.example.com/');
  const withOAuth = (oauth: object) => ({ ...entry, oauth_config: { use_pkce: true, ...oauth } });

  test.each([
    ['issuer', 'https://inside.example.com/'],
    ['authorize_url', 'http://127.0.0.1:8080/authorize'],
    ['token_url', 'https://169.254.169.254/token'],
  ])('is refused when its %s leads to %s', async (key, address) => {
    const refusing = refusePrivateEntry({ url, entry: withOAuth({ [key]: address }) }, draft, {}, lookup);

    await expect(refusing).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining(`leads to ${new URL(address).hostname}`),
      hint: expect.stringContaining('configure the issuer'),
    });
  });

  test('names hosts that are checked again for each connection', async () => {
    const oauth = { authorize_url: 'https://id.example.com/a', token_url: 'https://id.example.com:444/t' };

    const hosts = await refusePrivateEntry({ url, entry: withOAuth(oauth) }, draft, {}, lookup);

    expect(hosts).toEqual(['mcp.example.com', 'id.example.com', 'id.example.com:444']);
  });

  test('does not count where the user has named something else', async () => {
    const own = draftOf({ oauth_config: { issuer: 'https://inside.example.com/' } }, {});
    const source = { url, entry: withOAuth({ issuer: 'https://10.0.0.1/' }) };

    expect(await refusePrivateEntry(source, own, {}, lookup)).toEqual(['mcp.example.com']);
  });
});

test('hosts of a registry entry are forgotten when the run config names others', () => {
  const before = ['mcp.example.com', 'id.example.com'];

  const kept = withRegistryHosts({ remote_url: 'https://mcp.example.com/other' }, before);
  const replaced = withRegistryHosts({ remote_url: 'https://mine.example.com/' }, before);

  expect(kept).toHaveProperty('registry_hosts', ['mcp.example.com']);
  expect(replaced).toEqual({ remote_url: 'https://mine.example.com/' });
});
