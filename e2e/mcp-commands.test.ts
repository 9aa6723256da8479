import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serveHttp } from 'toolhive-test-servers/conformance';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { askableClients, officialClients } from './testing/mcp.ts';
import { startCommand } from './testing/running.ts';
import { serve, testServer, until } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { openUsedHomes } from './testing/used-homes.ts';

const homes = openUsedHomes();
afterAll(() => homes[Symbol.asyncDispose]());

let user: User;

beforeAll(async () => {
  user = await homes.take();
});
afterAll(() => user?.[Symbol.asyncDispose]());

describe('thv mcp list', () => {
  test.each(['legacy', 'modern'] as const)('shows all that a %s server has', async (era) => {
    proves('cli.mcp-list');
    await using server = await serveHttp(era, { host: '127.0.0.1', port: 0 });

    const text = await user.mustThv('mcp', 'list', '--server', server.url);
    const { tools, resources, resourceTemplates, prompts } = JSON.parse(
      await user.mustThv('mcp', 'list', '--server', server.url, '--format', 'json'),
    ) as Record<string, { name: string }[]>;

    expect(text).toMatch(/^Tools\nNAME +DESCRIPTION\n/);
    expect(text).toMatch(/^Resources\nNAME +URI +DESCRIPTION +MIME_TYPE$/m);
    expect(text).toMatch(/^Prompts\nNAME +DESCRIPTION +ARGUMENTS$/m);
    expect(text).toMatch(/^test_prompt_with_arguments .* 2 \(arg1, arg2\)$/m);
    expect(tools?.map(({ name }) => name)).toContain('test_simple_text');
    expect(resources?.map(({ name }) => name)).toContain('static-text');
    expect(prompts?.map(({ name }) => name)).toContain('test_simple_prompt');
    expect(resourceTemplates).toHaveLength(1);
  });

  test('shows only what is asked for, of a workload by its name, over either transport', async () => {
    await user.mustThv('run', testServer, '--name', 'listed');

    const over = async (transport: string): Promise<unknown> => {
      const words = ['--server', 'listed', '--transport', transport, '--format', 'json'];
      return JSON.parse(await user.mustThv('mcp', 'list', 'tools', ...words));
    };
    const answers = await Promise.all(['auto', 'streamable-http', 'sse'].map(over));
    const prompts = await user.mustThv('mcp', 'list', '--server', 'listed', 'prompts');

    expect(answers).toEqual(
      [1, 2, 3].map(() => ({ tools: expect.arrayContaining([expect.objectContaining({ name: 'echo' })]) })),
    );
    expect(prompts).toBe('Prompts: none\n');
  });

  test('lets nothing that a server says do anything to the terminal', async () => {
    const escape = '\u001b]0;owned\u0007\u001b[2J\u009b31m\u202ereversed';
    await using server = await serveTools([
      { name: 'evil', description: `before\nafter ${escape}` },
      { name: 'long', description: 'a'.repeat(5_000) },
    ]);

    const text = await user.mustThv('mcp', 'list', 'tools', '--server', server.url);
    const json = await user.mustThv('mcp', 'list', 'tools', '--server', server.url, '--format', 'json');

    // eslint-disable-next-line no-control-regex -- these are what must not be there
    const steering = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;
    expect(text).not.toMatch(steering);
    expect(json).not.toMatch(steering);
    expect(text).toMatch(/^evil +before after /m);
    expect(Math.max(...text.split('\n').map(({ length }) => length))).toBeLessThan(200);
    expect(JSON.parse(json)).toMatchObject({ tools: [{ description: `before\nafter ${escape}` }, {}] });
  });

  test('says what is wrong when there is nothing to list', async () => {
    await user.mustThv('run', testServer, '--name', 'asleep');
    await user.mustThv('stop', 'asleep');
    await using silent = await serveNothing();

    const asleep = await user.thv('mcp', 'list', '--server', 'asleep');
    const unknown = await user.thv('mcp', 'list', '--server', 'nobody');
    const nowhere = await user.thv('mcp', 'list', '--server', 'http://127.0.0.1:1/mcp');
    const late = await user.thv('mcp', 'list', '--server', silent.url, '--timeout', '300ms');
    const without = await user.thv('mcp', 'list');

    expect(asleep).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('run thv start asleep to start it'),
    });
    expect(unknown).toMatchObject({ code: 4, stderr: expect.stringContaining('workload nobody not found') });
    expect(nowhere).toMatchObject({ code: 5, stderr: expect.stringContaining('cannot be reached') });
    expect(late).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('did not answer within 0.3 seconds'),
    });
    expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining('--server is missing') });
  });
});

describe('thv mcp serve', () => {
  test('has clients of both eras run, use and remove a server', async () => {
    proves('cli.mcp-serve');
    await using command = startCommand(user, ['mcp', 'serve', '--port', '0']);
    const url = await command.printed(/at (http:\S+)/);

    for (const [era, connect] of Object.entries(askableClients)) {
      await using model = await connect(url);
      const run = await model.call('run_server', { server: testServer, name: `by-${era}` });
      const { url: serverUrl } = JSON.parse(run.text) as { url: string };
      await using server = await officialClients['current SDK, streamable HTTP']!(serverUrl); // one of its own keys
      const echoed = await server.call('echo', { message: 'hello' });
      const removed = await model.call('remove_server', { name: `by-${era}` });

      expect(new URL(url).hostname).toBe('127.0.0.1');
      expect(echoed.text).toBe('hello');
      expect(JSON.parse(removed.text)).toEqual({ status: 'removed', name: `by-${era}` });
    }
    expect(await user.mustThv('list', '--all', '--format', 'json')).not.toContain('by-');
  });

  test('listens where MCP_PORT says, unless a flag does', async () => {
    await using occupied = await serveNothing();
    const { port } = new URL(occupied.url);

    const conflict = startCommand(user, ['mcp', 'serve'], { MCP_PORT: port });
    const nonsense = startCommand(user, ['mcp', 'serve'], { MCP_PORT: 'no port' });
    await using flagged = startCommand(user, ['mcp', 'serve', '--port', '0'], { MCP_PORT: port });

    expect(await conflict.ended).toBe(3);
    expect(conflict.stderr()).toContain(`port ${port} is in use by another program`);
    expect(await nonsense.ended).toBe(2);
    expect(nonsense.stderr()).toContain('MCP_PORT takes a port');
    expect(await flagged.printed(/at (http:\S+)/)).not.toContain(port);
  });

  test.each(['SIGINT', 'SIGTERM'] as const)('ends well on %s, while a client listens', async (signal) => {
    const command = startCommand(user, ['mcp', 'serve', '--port', '0']);
    const url = await command.printed(/at (http:\S+)/);
    await using _client = await officialClients['previous SDK, SSE']!(new URL('/sse', url).href); // its own key

    expect(await command.end(signal)).toBe(0);
  });

  test('is for this machine only by default', async () => {
    const open = await user.thv('mcp', 'serve', '--host', '0.0.0.0', '--port', '0');
    await using loud = startCommand(user, [
      'mcp',
      'serve',
      '--host',
      '0.0.0.0',
      '--port',
      '0',
      '--insecure-no-auth',
    ]);

    await loud.printed(/at (http:\S+)/);

    expect(open).toMatchObject({ code: 2, stderr: expect.stringContaining('--insecure-no-auth') });
    expect(loud.stderr()).toContain('WARNING: the tools on 0.0.0.0 would allow anyone');
  });

  test('lets only those in who have the token, if there is one', async () => {
    const path = join(user.home, 'token');
    await writeFile(path, 'a-token-of-enough-letters\n');
    await using command = startCommand(user, ['mcp', 'serve', '--port', '0', '--token-file', path]);
    const url = await command.printed(/at (http:\S+)/);

    const without = await statusOf(url, {});
    const right = await statusOf(url, { authorization: 'Bearer a-token-of-enough-letters' });

    expect([without, right]).toEqual([401, 200]);
  });
});

test('thv serve offers the same tools beside the API', async () => {
  proves('cli.mcp-serve');
  await using own = await homes.take();

  await using daemon = await serve(own, ...besideTheApi);
  await using model = await askableClients.modern(await toolsOf(daemon));
  const listed = await model.call('list_servers');

  expect(JSON.parse(listed.text)).toEqual({ servers: [] });
});

test('thv serve offers them to those only who may use the API', async () => {
  await using own = await homes.take();
  const path = join(own.home, 'token');
  await writeFile(path, 'a-token-of-enough-letters\n');

  const open = await own.thv('serve', ...besideTheApi, '--experimental-mcp-host', '0.0.0.0');
  await using daemon = await serve(own, ...besideTheApi, '--token-file', path);
  const url = await toolsOf(daemon);
  const right = { authorization: 'Bearer a-token-of-enough-letters' };

  expect(open).toMatchObject({ code: 2, stderr: expect.stringContaining('the tools on 0.0.0.0') });
  expect([await statusOf(url, {}), await statusOf(url, right)]).toEqual([401, 200]);
});

const besideTheApi = ['--experimental-mcp', '--experimental-mcp-port', '0'];

/** Where they are, as soon as it is said. */
function toolsOf({ output }: { output: () => string }): Promise<string> {
  return until(() => /Tools +(http\S+)/.exec(output())?.[1]);
}

/** The response to a request with this token. */
async function statusOf(url: string, headers: Record<string, string>): Promise<number> {
  const { status } = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
  });
  return status;
}

/** A modern server with these tools. */
function serveTools(tools: readonly object[]) {
  return listen((body) => {
    const { id, method } = JSON.parse(body) as { id: unknown; method: string };
    const result =
      method === 'server/discover'
        ? { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
        : { tools };
    return JSON.stringify({ jsonrpc: '2.0', id, result });
  });
}

/** Takes every request, and never answers. */
function serveNothing() {
  return listen(() => undefined);
}

async function listen(answer: (body: string) => string | undefined) {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const text = answer(body);
      if (text !== undefined) response.writeHead(200, { 'content-type': 'application/json' }).end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, // it listens on TCP
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
