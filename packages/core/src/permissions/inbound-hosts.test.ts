import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { testPort } from '@toolhive/testing/port';
import { describe, expect, test } from 'vitest';
import { openProxy } from '../supervision/open-proxy.ts';
import { aRunConfig } from '../testing/run-config.ts';
import { checkRunConfig } from '../workloads/creation/checks.ts';
import { warningsOf } from './warnings.ts';

const withHosts = (...hosts: string[]) =>
  aRunConfig({ permission_profile: { network: { inbound: { allow_host: hosts } } } });

/** What the proxy of a workload answers to a request with these headers. */
async function statusFor(hosts: string[], headers: Record<string, string>): Promise<number | undefined> {
  const port = await testPort();
  const silent = { version: 'v0', onExcess: () => {}, onFault: () => {}, onInvalidOutput: () => {} };
  await using proxy = await openProxy({ ...withHosts(...hosts), port }, silent);
  const asked = request({ host: '127.0.0.1', port: proxy.port, path: '/nowhere', headers, agent: false });
  const [response] = (await once(asked.end(), 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

describe('inbound hosts of a profile', () => {
  test.each([
    ['mcp.example.com', 'mcp.example.com'],
    ['mcp.example.com', 'MCP.example.com.:8080'],
    ['*.example.com', 'mcp.example.com'],
    ['.example.com', 'example.com'],
    ['127.0.0.1', '127.0.0.1:8080'],
    ['127.0.0.0/8', '127.0.0.1'],
    ['::1', '[::1]:8080'],
    ['localhost', 'localhost'],
  ])('with %s, let requests for %s pass', async (listed, host) => {
    expect(await statusFor([listed], { host })).toBe(404);
  });

  test.each([
    ['mcp.example.com', 'localhost'],
    ['mcp.example.com', '127.0.0.1'],
    ['mcp.example.com', 'example.com'],
    ['mcp.example.com', 'mcp.example.com.evil.example'],
    ['mcp.example.com', 'evil.example#mcp.example.com'],
    ['mcp.example.com', 'mcp.example.com@evil.example'],
    ['*.example.com', 'example.com'],
    ['127.0.0.1', 'localhost'],
    ['127.0.0.1', '0x7f.1'],
  ])('with %s, refuse requests for %s', async (listed, host) => {
    expect(await statusFor([listed], { host })).toBe(403);
  });

  test('that are not listed leave the names of this machine', async () => {
    expect(await statusFor([], { host: 'localhost' })).toBe(404);
    expect(await statusFor([], { host: 'mcp.example.com' })).toBe(403);
  });

  test('do not open the proxy to web pages, which could lead their own name here', async () => {
    const host = 'mcp.example.com';

    expect(await statusFor([host], { host, origin: `http://${host}` })).toBe(403);
    expect(await statusFor([host], { host, origin: 'http://localhost:3000' })).toBe(404);
  });

  test('are refused if they are no hosts', () => {
    expect(() => checkRunConfig(withHosts('mcp.example.com', 'http://x/'))).toThrow(
      '"http://x/" is not a host',
    );
  });

  test('that leave out localhost cause a warning', () => {
    const warning = expect.stringContaining('only requests for mcp.example.com');

    expect(warningsOf(withHosts('mcp.example.com'), [])).toContainEqual(warning);
    expect(warningsOf(withHosts('mcp.example.com', 'localhost'), [])).toEqual([]);
  });
});
