import { describe, expect, test } from 'vitest';
import { probeRemote } from './probe.ts';
import { serveRoutes } from './testing/authorization-server.ts';
import type { Route } from './testing/authorization-server.ts';

const refuse =
  (header: string): Route =>
  ({ reply }) =>
    reply(401, {}, header === '' ? {} : { 'www-authenticate': header });

describe('a remote server that is asked what it wants', () => {
  test.each([
    ['a bearer token', 'Bearer resource_metadata="https://a.example/b"', 'oauth'],
    ['OAuth', 'OAuth realm="a"', 'oauth'],
    ['one of several', 'Basic realm="a", Bearer scope="b"', 'oauth'],
    ['something it does not name', '', 'oauth'],
    ['a password', 'Basic realm="a"', 'something else'],
  ])('wants %s', async (_what, header, kind) => {
    await using server = await serveRoutes(() => ({ 'POST /mcp': refuse(header) }));

    const need = await probeRemote(`${server.origin}/mcp`);

    expect(need.kind).toBe(kind);
    expect(server.seen).toEqual(['POST /mcp']);
  });

  test('is asked as one that streams too', async () => {
    await using server = await serveRoutes(() => ({ 'GET /sse': refuse('Bearer') }));

    expect(await probeRemote(`${server.origin}/sse`)).toEqual({ kind: 'oauth', wwwAuthenticate: 'Bearer' });
  });

  test('wants nothing when it starts to stream', async () => {
    await using server = await serveRoutes(() => ({
      'GET /sse': ({ response }) => response.writeHead(200).flushHeaders(),
    }));

    expect(await probeRemote(`${server.origin}/sse`)).toEqual({ kind: 'nothing' });
  });

  test('gets the headers that are configured', async () => {
    await using server = await serveRoutes(() => ({
      'POST /mcp': ({ headers, reply }) => reply(headers['x-key'] === 'hush' ? 200 : 401, {}),
      'GET /mcp': ({ reply }) => reply(405, {}),
    }));

    expect(await probeRemote(`${server.origin}/mcp`, { headers: { 'x-key': 'hush' } })).toEqual({
      kind: 'nothing',
    });
  });

  test('that does not exist wants nothing yet', async () => {
    const server = await serveRoutes(() => ({}));
    await server[Symbol.asyncDispose]();

    expect(await probeRemote(server.origin)).toEqual({ kind: 'nothing' });
  });

  test('is not waited for after the last caller has left', async () => {
    await using server = await serveRoutes(() => ({ 'POST /mcp': () => stop.abort() }));
    const stop = new AbortController();

    await expect(probeRemote(`${server.origin}/mcp`, { signal: stop.signal })).rejects.toThrow();
  });

  test.each(['mcp', 'file:///mcp', 'http://a:b@mcp.example/'])('has no URL such as %s', async (url) => {
    await expect(probeRemote(url)).rejects.toMatchObject({ kind: 'invalid' });
  });
});
