// @suite e2e (in depth)
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { versionOf } from '@toolhive/access/difference';
import { says, serveChanging } from '@toolhive/core/testing/changing-server';
import { testPort } from '@toolhive/testing/port';
import { describe, expect, test } from 'vitest';
import { connectTo } from './testing/mcp.ts';
import { minimal, program, startRunner, startServer } from './testing/proxy-runner.ts';
import { until } from './testing/thv.ts';

const tool = (name: string) => ({ name, description: `The tool ${name}.`, inputSchema: { type: 'object' } });

describe('the proxy runner', () => {
  test('proxies a server, and is healthy only while the server answers', async () => {
    const targetPort = await testPort();
    await using runner = await startRunner({ target_port: targetPort });

    const before = await runner.health();
    const alive = await runner.health(undefined, '/livez');
    expect([before.status, alive.status]).toEqual([503, 200]);

    {
      await using _server = startServer(targetPort);
      await until(async () => (await runner.health()).status === 200);
      await using client = await connectTo(runner.url);
      expect(await client.call('echo', { message: 'hello' })).toMatchObject({ text: 'hello' });
    }
    await until(async () => (await runner.health()).status === 503);
    expect(JSON.parse((await runner.health()).body)).toMatchObject({
      mcp: {
        available: false,
        error: expect.stringMatching(/^it does not accept connections \(next attempt in \d+ s\)$/),
      },
    });

    await using _again = startServer(targetPort);
    await until(async () => (await runner.health()).status === 200);
    await using client = await connectTo(runner.url);
    expect(await client.call('echo', { message: 'again' })).toMatchObject({ text: 'again' });
  });

  test('answers requests for its Service names, and refuses other names', async () => {
    const targetPort = await testPort();
    await using _server = startServer(targetPort);
    await using runner = await startRunner(
      { target_port: targetPort },
      { TOOLHIVE_PUBLIC_HOSTS: 'mcp.example.com' },
    );
    await until(async () => (await runner.health()).status === 200);

    const statuses = await Promise.all(
      [
        'mcp-echo-proxy:8080',
        'mcp-echo-proxy.tools.svc.cluster.local:8080',
        'mcp.example.com',
        'attacker.example',
        'mcp-echo-proxy.other:8080',
      ].map(async (host) => (await runner.health(host, '/unknown')).status),
    );

    expect(statuses.map((status) => status === 403)).toEqual([false, false, false, true, true]);
  });

  test('applies mounted policies and tool rules, and writes audit events to standard output', async () => {
    const targetPort = await testPort();
    await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-authz-'));
    const authz = join(folder.path, 'authz.json');
    const policies = ['permit(principal, action, resource) unless { resource == Tool::"fail" };'];
    await writeFile(
      authz,
      JSON.stringify({ version: '1.0', type: 'cedarv1', cedar: { policies, entities_json: '[]' } }),
    );
    await using _server = startServer(targetPort);
    await using runner = await startRunner({
      target_port: targetPort,
      authz_config_path: authz,
      tools_filter: ['repeat', 'fail'],
      tools_override: { echo: { name: 'repeat' } },
      audit_config: {},
    });
    await until(async () => (await runner.health()).status === 200);
    await using client = await connectTo(runner.url);

    const tools = await client.tools();
    const answer = await client.call('repeat', { message: 'hello' });

    expect(tools).toEqual(['repeat']);
    expect(answer.text).toBe('hello');
    await until(() => runner.lines().some(({ type }) => type === 'mcp_tool_call'));
    expect(runner.lines().find(({ type }) => type === 'mcp_tool_call')).toMatchObject({
      msg: 'audit_event',
      outcome: 'success',
      target: { name: 'repeat' },
    });
  });

  test('compares tools with mounted pins, which a restart keeps', async () => {
    const said = says({ tools: [tool('kept'), tool('changed'), tool('new')] });
    const server = await serveChanging(said, 0);
    await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-pins-'));
    const file = join(folder.path, 'tool-pins.json');
    const pinOf = (content: { name: string }, hash = versionOf(content).hash): object => ({
      kind: 'tool',
      name: content.name,
      hashes: [hash],
    });
    await writeFile(file, JSON.stringify([pinOf(tool('kept')), pinOf(tool('changed'), '0'.repeat(64))]));
    const config = { target_port: Number(new URL(server.url).port), tool_pinning: 'block' };
    const toolsOf = async (): Promise<string[]> => {
      await using runner = await startRunner(config, {}, ['--tool-pins', file]);
      await until(async () => (await runner.health()).status === 200);
      await using client = await connectTo(runner.url);
      await expect(client.call('new', {})).rejects.toThrow(
        'the tool "new" is not pinned, and cannot be used; ask the user to review it with thv cluster pins echo',
      );
      return await client.tools();
    };

    const first = await toolsOf();
    const second = await toolsOf();

    await server.close();
    expect([first, second]).toEqual([['kept'], ['kept']]);
    expect(said.used).toEqual([]);
  });

  test('requires tokens of clients, but not of probes', async () => {
    const targetPort = await testPort();
    await using _server = startServer(targetPort);
    await using runner = await startRunner(
      {
        target_port: targetPort,
        oidc_config: { issuer: 'https://issuer.example', audience: 'toolhive', clientID: 'proxy' },
      },
      { TOOLHIVE_OIDC_CLIENT_SECRET: 'a secret from the environment' },
    );

    await until(async () => (await runner.health()).status === 200);

    expect((await runner.health(undefined, '/mcp')).status).toBe(401);
    expect(
      runner
        .lines()
        .map((line) => JSON.stringify(line))
        .join('\n'),
    ).not.toContain('a secret from');
  });

  test('opens an egress gateway only for a profile with rules, and logs each decision', async () => {
    const targetPort = await testPort();
    const egressPort = await testPort();
    await using runner = await startRunner(
      {
        target_port: targetPort,
        permission_profile: { network: { outbound: { allow_host: ['api.example'] } } },
      },
      {},
      ['--egress-port', String(egressPort)],
    );

    const sent = request({
      host: '127.0.0.1',
      port: egressPort,
      method: 'CONNECT',
      path: 'other.example:443',
    });
    sent.end();
    const [response] = (await once(sent, 'connect')) as [IncomingMessage];
    response.socket.destroy();

    expect(response.statusCode).toBe(403);
    await until(() => runner.lines().find(({ msg }) => msg === 'outbound connection denied'));
    expect(runner.lines().find(({ verdict }) => verdict === 'denied')).toMatchObject({
      host: 'other.example',
      port: 443,
      reason: 'no rule allows this host',
    });
  });

  test('ends after SIGTERM with exit code 0 while clients are connected', async () => {
    const targetPort = await testPort();
    await using _server = startServer(targetPort);
    await using runner = await startRunner({ target_port: targetPort });
    await until(async () => (await runner.health()).status === 200);
    await using client = await connectTo(runner.url);
    await client.tools();

    const exited = once(runner.child, 'exit');
    runner.child.kill('SIGTERM');

    expect(await exited).toEqual([0, null]);
  });

  test.each([
    ['a missing port of the server', {}, /is invalid at target_port: a port is required; set the port/],
    ['an unknown transport', { transport: 'pigeon' }, /is invalid at transport: /],
    [
      'an unknown permission profile',
      { target_port: 1, permission_profile_name_or_path: '/none' },
      /cannot read permission profile \/none/,
    ],
    [
      'policies that cannot be read',
      { target_port: 1, authz_config_path: '/none.json' },
      /authorization configuration \/none\.json cannot be read/,
    ],
    [
      'an audit file',
      { target_port: 1, audit_config: { log_file: '/tmp/audit.log' } },
      /audit_config\.log_file is not supported without a daemon; remove log_file/,
    ],
  ])('refuses %s with exit code 2 and one line', async (_case, runConfig, message) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-runner-'));
    const file = join(folder.path, 'runconfig.json');
    await writeFile(file, JSON.stringify({ ...minimal, port: 8080, ...runConfig }));

    const child = spawn(process.execPath, [program, 'run', '--run-config', file], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [written, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);

    expect(code).toBe(2);
    expect(written.trimEnd().split('\n')).toHaveLength(1);
    expect(written).toMatch(message);
  });
});
