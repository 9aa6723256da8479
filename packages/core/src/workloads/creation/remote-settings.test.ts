import { RegistryRemoteServer } from '@toolhive/contract/registry';
import { describe, expect, test } from 'vitest';
import { remoteSettings, requireRemoteSettings } from './remote-settings.ts';

test.for([
  ['https://mcp.example.com/sse', undefined, 'sse'],
  ['https://mcp.example.com/v1/sse/?team=a', undefined, 'sse'],
  ['https://mcp.example.com/sse', 'streamable-http', 'streamable-http'],
  ['https://mcp.example.com/mcp', undefined, 'streamable-http'],
  ['https://sse.example.com/', undefined, 'streamable-http'],
  ['https://mcp.example.com/mcp', 'SSE', 'sse'],
] as const)('%s with the transport %s has %s', ([url, transport, wanted]) => {
  const source = { kind: 'remote', url: new URL(url), defaultName: 'example' } as const;

  const { transport: found } = remoteSettings({ url, transport }, source);

  expect(found).toBe(wanted);
});

test('the headers of clients for later versions are sent, too', () => {
  const source = { kind: 'remote', url: new URL('https://mcp.example.com/mcp'), defaultName: 'a' } as const;
  const header_forward = {
    add_plaintext_headers: { 'X-Tenant-ID': 'red' },
    add_headers_from_secret: { Authorization: 'token' },
  };

  const { remote_auth_config: auth } = remoteSettings({ url: source.url.href, header_forward }, source);

  expect(auth?.headers).toEqual([
    expect.objectContaining({ name: 'X-Tenant-ID', secret: false, default: 'red' }),
    expect.objectContaining({ name: 'Authorization', secret: true, default: 'token,target=Authorization' }),
  ]);
});

describe('headers are refused before anything exists', () => {
  const header = { description: '', required: true, secret: false };
  const source = { kind: 'remote', url: new URL('https://mcp.example.com/mcp'), defaultName: 'a' } as const;

  test.each([
    ['Host', { headers: [{ ...header, name: 'Host', default: 'a' }] }, '/headers/0', 'cannot be configured'],
    [
      'the session',
      { header_forward: { add_plaintext_headers: { 'Mcp-Session-Id': 'a' } } },
      '/header_forward/add_plaintext_headers/Mcp-Session-Id',
      'the header Mcp-Session-Id cannot be configured',
    ],
    [
      'another letter case',
      {
        headers: [{ ...header, name: 'X-Team', default: 'red' }],
        header_forward: { add_headers_from_secret: { 'x-team': 'team' } },
      },
      '/header_forward/add_headers_from_secret/x-team',
      'the headers X-Team and x-team are the same header',
    ],
    [
      'two lines',
      { headers: [{ ...header, name: 'X-A', default: 'hush\r\nHost: b' }] },
      '/headers/0',
      'the value of the header X-A contains a line break',
    ],
    [
      'a value that no header can have',
      { headers: [{ ...header, name: 'X-A', default: 'caf\u00e9 \u2615' }] },
      '/headers/0',
      'the value of the header X-A contains characters that no header can contain',
    ],
    [
      'a secret instead of its name',
      { headers: [{ ...header, name: 'X-A', secret: true, default: 'hush' }] },
      '/headers/0',
      'the header X-A does not refer to a secret',
    ],
  ])('%s', (_title, request, pointer, message) => {
    const build = (): unknown => remoteSettings({ url: source.url.href, ...request }, source);

    expect(build).toThrow(
      expect.objectContaining({
        kind: 'invalid',
        message: expect.stringContaining(message) as string,
        hint: expect.not.stringContaining('hush') as string,
        problems: [expect.objectContaining({ pointer })],
      }),
    );
  });

  test('also those of an entry, which have no place in the request', () => {
    const headers = [{ ...header, name: 'Host', default: 'a' }];
    const listed = { description: '', transport: 'sse', url: source.url.href, name: 'listed', headers };
    const entry = { ...RegistryRemoteServer.parse(listed), name: 'listed' };

    const build = (): unknown => remoteSettings({ image: 'a' }, { ...source, entry });

    expect(build).toThrow(expect.objectContaining({ kind: 'invalid', problems: [] }));
  });

  test('also those of a run config', () => {
    const headers = [{ ...header, name: 'Connection', default: 'close' }];
    const settings = { transport: 'sse', remote_auth_config: { headers } } as const;

    expect(() => requireRemoteSettings(settings)).toThrow('the header Connection cannot be configured');
  });
});
