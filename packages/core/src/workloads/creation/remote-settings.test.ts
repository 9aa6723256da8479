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
