import { expect, test } from 'vitest';
import { remoteSettings } from './remote-settings.ts';

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
