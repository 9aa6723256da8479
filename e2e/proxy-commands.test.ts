import { existsSync } from 'node:fs';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as PreviousClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as PreviousStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { openAuthorizationServer } from '@toolhive/remote/testing/authorization-server';
import { openIdProvider } from '@toolhive/access/testing/openid-provider';
import { openRemoteServer } from '@toolhive/remote/testing/remote-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { askableClients, connectTo } from './testing/mcp.ts';
import { goodToken, installNgrok } from './testing/ngrok.ts';
import { startCommand } from './testing/running.ts';
import type { RunningCommand } from './testing/running.ts';
import { agree } from './testing/sign-in.ts';
import { testServer, thvScript, until } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { openUsedHomes } from './testing/used-homes.ts';

let user: User;

beforeAll(async () => {
  user = await openUsedHomes().take();
});
afterAll(() => user?.[Symbol.asyncDispose]());

function startProxy(target: string, ...words: string[]): RunningCommand {
  return startCommand(user, ['proxy', 'somewhere', '--target-uri', target, ...words]);
}

function urlOf(command: RunningCommand): Promise<string> {
  return command.printed(/somewhere is at (http:\S+)/);
}

describe('thv proxy', () => {
  test.each(['legacy', 'modern'] as const)('serves a %s server to clients of both', async (era) => {
    proves('cli.proxy');
    await using remote = await openRemoteServer(era);
    await using proxy = startProxy(remote.url);
    const url = await urlOf(proxy);

    for (const connect of Object.values(askableClients)) {
      await using client = await connect(url);
      const { text } = await client.call('test_simple_text');
      const asked = await client.call('test_sampling', { prompt: 'hello' });

      expect(text).toContain('simple text');
      expect(asked.text).toContain('a completion');
    }
    const daemonFiles = await readdir(user.home);

    expect(await proxy.end('SIGINT')).toBe(0);
    expect(daemonFiles).not.toContain('.local'); // there is no daemon
  });

  test('finds the endpoint when only the origin is named, and listens where it is told', async () => {
    await using remote = await openRemoteServer('legacy');
    await using first = startProxy(new URL(remote.url).origin);
    const url = await urlOf(first);
    const { port } = new URL(url);

    await using client = await connectTo(url);
    const second = startProxy(remote.url, '--port', port);

    expect(await client.tools()).toContain('test_simple_text');
    expect(await second.ended).toBe(3);
    expect(second.stderr()).toContain(`port ${port} is in use by another program`);
  });

  test('passes nothing on that a client shows of itself', async () => {
    proves('cli.proxy');
    await using remote = await openRemoteServer('modern');
    await using proxy = startProxy(remote.url);
    const url = await urlOf(proxy);

    const answer = await post(url, { authorization: 'Bearer of-the-client', cookie: 'a=b' });

    expect(answer.status).toBe(200);
    expect(remote.seen.length).toBeGreaterThan(0);
    expect(remote.seen.filter(({ authorization, cookie }) => authorization ?? cookie)).toEqual([]);
  });

  test('signs in where the server wants that, and keeps the tokens in memory', async () => {
    proves('cli.proxy');
    await using authority = await openAuthorizationServer();
    await using remote = await openRemoteServer('legacy', authority);
    await using proxy = startProxy(remote.url, '--remote-auth-skip-browser');

    await agree(await proxy.printed(/To sign in, open (\S+)/));
    await using client = await connectTo(await urlOf(proxy));
    const { text } = await client.call('test_simple_text');

    const token = remote.seen.at(-1)?.authorization?.replace('Bearer ', '') ?? '';
    expect(text).toContain('simple text');
    expect(token).toMatch(/^access-/);
    expect(await filesWith(user.home, token)).toEqual([]);
    expect(proxy.stdout() + proxy.stderr()).not.toContain(token);
  });

  test('signs in as the client that was registered by hand, with its secret from a file', async () => {
    await using authority = await openAuthorizationServer({ clients: { byhand: 'itssecret' } });
    await using remote = await openRemoteServer('modern', authority);
    const file = join(user.home, 'client-secret');
    await writeFile(file, 'itssecret\n');
    const client = ['--remote-auth-client-id', 'byhand', '--remote-auth-client-secret-file', file];
    await using proxy = startProxy(remote.url, '--remote-auth', '--remote-auth-skip-browser', ...client);

    await agree(await proxy.printed(/To sign in, open (\S+)/));
    await urlOf(proxy);

    expect(authority.registrations).toEqual([]);
    expect(authority.asked[0]?.get('client_id')).toBe('byhand');
  });

  test('offers no page for a sign-in that nothing describes', async () => {
    await using remote = await openRemoteServer('modern');
    const client = ['--remote-auth-client-id', 'byhand'];

    const proxy = startProxy(remote.url, '--remote-auth', '--remote-auth-skip-browser', ...client);

    expect(await proxy.ended).toBe(5);
    expect(proxy.stderr()).toContain('Error: --remote-auth found no place to sign in:');
    expect(proxy.stderr()).toContain('Hint: add --remote-auth-issuer, or --remote-auth-authorize-url');
    expect(proxy.stdout() + proxy.stderr()).not.toContain('To sign in, open');
  });

  test('gives up without a sign-in', async () => {
    await using authority = await openAuthorizationServer();
    await using remote = await openRemoteServer('modern', authority);

    const proxy = startProxy(remote.url, '--remote-auth-skip-browser', '--remote-auth-timeout', '1s');

    expect(await proxy.ended).toBe(1);
    expect(proxy.stderr()).toContain(
      'Error: sign-in missing: the sign-in was not completed within 0.02 minutes',
    );
    expect(proxy.stderr()).toContain('Hint: start this command again');
    expect(proxy.stdout()).toBe('');
  });

  test('accepts only callers that a provider knows, and names the provider', async () => {
    await using provider = await openIdProvider();
    await using remote = await openRemoteServer('modern');
    const oidc = ['--oidc-issuer', provider.issuer, '--oidc-audience', 'toolhive'];
    await using proxy = startProxy(remote.url, ...oidc, '--resource-url', 'https://mcp.example/mcp');
    const url = await urlOf(proxy);
    const token = await provider.sign({ iss: provider.issuer, aud: 'toolhive' }, '5m');

    const without = await post(url);
    const right = await post(url, { authorization: `Bearer ${token}` });
    const metadata = await fetch(new URL('/.well-known/oauth-protected-resource/mcp', url));

    expect([without.status, right.status]).toEqual([401, 200]);
    expect(without.headers.get('www-authenticate')).toContain(
      'resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/mcp"',
    );
    expect(await metadata.json()).toMatchObject({
      resource: 'https://mcp.example/mcp',
      authorization_servers: [provider.issuer],
    });
    expect(remote.seen.filter(({ authorization }) => authorization !== undefined)).toEqual([]);
  });

  test.each([
    ['http://user:secret@127.0.0.1:1', [], 2, '--target-uri must be an http or https URL'],
    ['ftp://127.0.0.1', [], 2, '--target-uri must be an http or https URL'],
    ['http://127.0.0.1:1/mcp', [], 5, 'cannot be reached'],
    ['http://127.0.0.1:1/mcp', ['--port', '99999'], 2, '--port takes a port'],
    ['http://127.0.0.1:1/mcp', ['--token-exchange-url', 'https://x.example'], 1, '--token-exchange-url'],
    ['http://127.0.0.1:1/mcp', ['--oidc-issuer', 'https://x.example'], 2, 'an audience is required'],
    [
      'http://127.0.0.1:1/mcp',
      ['--oidc-issuer', 'http://x.example', '--oidc-audience', 'a'],
      2,
      'invalid --oidc-issuer:',
    ],
    ['http://127.0.0.1:1/mcp', ['--resource-url', 'https://x.example'], 2, 'requires --oidc-issuer'],
    [
      'http://127.0.0.1:1/mcp',
      ['--remote-auth-token-url', 'https://x.example'],
      2,
      '--remote-auth-authorize-url and --remote-auth-token-url',
    ],
    [
      'http://127.0.0.1:1/mcp',
      ['--remote-auth-issuer', 'http://x.example'],
      2,
      '--remote-auth-issuer is not an https URL',
    ],
  ])('says what is wrong with %s %j', async (target, words, code, message) => {
    const outcome = await user.thv('proxy', 'somewhere', '--target-uri', target, ...words);

    expect(outcome.code).toBe(code);
    expect(outcome.stderr).toContain(message);
    expect(outcome.stderr).not.toContain('secret');
  });
});

describe('thv proxy stdio', () => {
  const adapter = (name: string) => ({
    command: process.execPath,
    args: ['--', thvScript, 'proxy', 'stdio', name],
    env: user.env as Record<string, string>, // nothing in it is undefined
    stderr: 'ignore' as const,
  });
  const identity = { name: 'toolhive-e2e', version: '1.0.0' };

  test('lets official clients of both majors use a workload, as if they had started it', async () => {
    proves('cli.proxy.stdio');
    await user.mustThv('run', testServer, '--name', 'behind-stdio', '--proxy-mode', 'sse');
    const current = new Client(identity);
    const modern = new Client(identity, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    const previous = new PreviousClient(identity);

    await current.connect(new StdioClientTransport(adapter('behind-stdio')));
    await modern.connect(new StdioClientTransport(adapter('behind-stdio')));
    await previous.connect(new PreviousStdio(adapter('behind-stdio')));
    const answers = await Promise.all(
      [current, modern, previous].map((client) =>
        client.callTool({ name: 'echo', arguments: { message: 'hello' } }),
      ),
    );
    await Promise.all([current, modern, previous].map((client) => client.close()));

    expect(answers.map(({ content }) => content)).toEqual(
      [1, 2, 3].map(() => [{ type: 'text', text: 'hello' }]),
    );
  });

  test('continues after a restart of the workload', async () => {
    await user.mustThv('run', testServer, '--name', 'comes-and-goes');
    const client = new PreviousClient(identity);
    await client.connect(new PreviousStdio(adapter('comes-and-goes')));
    await client.callTool({ name: 'echo', arguments: { message: 'before' } });

    await user.mustThv('stop', 'comes-and-goes');
    await user.mustThv('restart', 'comes-and-goes');
    const answer = await until(() =>
      client.callTool({ name: 'echo', arguments: { message: 'after' } }).catch(() => undefined),
    );
    await client.close();

    expect(answer.content).toEqual([{ type: 'text', text: 'after' }]);
  });

  test('writes nothing but messages to standard output, and ends with its input', async () => {
    await user.mustThv('run', testServer, '--name', 'pure');
    await using command = startCommand(user, ['proxy', 'stdio', 'pure']);

    command.child.stdin.write('this is no message\n');
    command.child.stdin.end(`${JSON.stringify(initialize)}\n`);
    const code = await command.ended;

    const lines = command.stdout().trimEnd().split('\n');
    expect(code).toBe(0);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({ jsonrpc: '2.0', id: 1, result: expect.any(Object) }),
    ]);
    expect(command.stderr()).toContain('not a message: this is no message');
  });

  test('ends when it is told to, though its input is open', async () => {
    await user.mustThv('run', testServer, '--name', 'told');
    await using command = startCommand(user, ['proxy', 'stdio', 'told']);
    command.child.stdin.write(`${JSON.stringify(initialize)}\n`);
    await until(() => command.stdout().includes('"result"'));

    expect(await command.end()).toBe(0);
  });

  test('says on standard error when there is nothing to talk to', async () => {
    await user.mustThv('run', testServer, '--name', 'resting');
    await user.mustThv('stop', 'resting');

    const resting = await user.thv('proxy', 'stdio', 'resting');
    const unknown = await user.thv('proxy', 'stdio', 'nobody');

    expect(resting).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('is not running') });
    expect(unknown).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('not found') });
  });
});

describe('thv proxy tunnel', () => {
  const provider = ['--tunnel-provider', 'ngrok'];
  const tunnel = (target: string, ...words: string[]): string[] =>
    ['proxy', 'tunnel', target, 'shown'].concat(provider, words);

  test('gives a workload a public URL, warns of it, and takes it away in the end', async () => {
    proves('cli.proxy.tunnel');
    await using ngrok = await installNgrok();
    await user.mustThv('run', testServer, '--name', 'tunnelled');
    const env = { ...ngrok.env, NGROK_AUTHTOKEN: goodToken };
    await using command = startCommand(user, tunnel('tunnelled'), env);

    const publicUrl = await command.printed(/shown is at (http\S+)/);
    await using client = await connectTo(publicUrl);
    const { text } = await client.call('echo', { message: 'from far away' });
    const started = await ngrok.started();
    const code = await command.end('SIGINT');

    expect(text).toBe('from far away');
    expect(new URL(publicUrl).pathname).toBe('/mcp');
    expect(command.stderr()).toContain('WARNING: anyone with this URL can use shown');
    expect(started.arguments.join(' ')).not.toContain(goodToken);
    expect(code).toBe(0);
    expect(() => process.kill(started.pid, 0)).toThrow('ESRCH');
  });

  test('takes the tunnel away that a script of the same name has started', async () => {
    await using ngrok = await installNgrok({ isWrapped: true });
    const env = { ...ngrok.env, NGROK_AUTHTOKEN: goodToken };
    await using command = startCommand(user, tunnel('http://127.0.0.1:1/mcp'), env);
    await command.printed(/shown is at (http\S+)/);
    const { pid } = await ngrok.started();

    // To it alone: at a terminal the script and the agent are in no group that hears Ctrl-C.
    const code = await command.end('SIGINT');

    expect(code).toBe(0);
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  test('leaves no tunnel when it is killed', async () => {
    await using ngrok = await installNgrok();
    const env = { ...ngrok.env, NGROK_AUTHTOKEN: goodToken };
    await using command = startCommand(user, tunnel('http://127.0.0.1:1/mcp'), env);
    await command.printed(/shown is at (http\S+)/);
    const { pid } = await ngrok.started();

    await command.end('SIGKILL');

    await until(() => !existsSync(`/proc/${pid}`));
    expect(command.child.signalCode).toBe('SIGKILL');
  });

  test('passes the provider settings on, and hides the token', async () => {
    await using ngrok = await installNgrok();
    const settings = {
      'auth-token': goodToken,
      url: 'https://files.example.com',
      'traffic-policy-file': 'policy.yml',
      pooling: true,
    };
    const words = tunnel('http://127.0.0.1:1/mcp', '--provider-args', JSON.stringify(settings));
    await using command = startCommand(user, words, ngrok.env);

    await command.printed(/shown is at (http\S+)/);
    const started = await ngrok.started();

    expect(started.token).toBe(goodToken);
    expect(started.arguments).toEqual(
      expect.arrayContaining([
        '--url=https://files.example.com',
        '--pooling-enabled',
        '--host-header=rewrite',
      ]),
    );
    expect(started.arguments.find((word) => word.startsWith('--traffic-policy-file='))).toMatch(
      /=\/.*policy\.yml$/,
    );
    expect(started.arguments.join(' ')).not.toContain(goodToken);
  });

  test('says what the provider says when it does not work', async () => {
    await using ngrok = await installNgrok();
    const command = startCommand(user, tunnel('http://127.0.0.1:1/mcp'), {
      ...ngrok.env,
      NGROK_AUTHTOKEN: 'bad',
    });

    expect(await command.ended).toBe(5);
    expect(command.stderr()).toContain('ngrok: authentication failed: the authtoken is not valid');
    expect(command.stderr()).toContain('Error: ngrok has ended (exit code 1): ERR_NGROK_105');
    expect(command.stdout()).toBe('');
  });

  test('says how to get a missing program', async () => {
    const words = tunnel('http://127.0.0.1:1/mcp', '--provider-args', '{"auth-token": "a secret"}');

    const { code, stderr } = await user.thv(...words);

    expect(code).toBe(5);
    expect(stderr).toContain('ngrok is not installed');
    expect(stderr).toContain('https://ngrok.com/download');
  });

  test.each([
    ['{"auth-token": "a secret"', '--provider-args is not valid JSON'],
    ['["a secret"]', '--provider-args is not a JSON object'],
    ['{"token": "a secret"}', 'Unrecognized key: "token"'],
    ['{"url": "files.example.com"}', 'url: '],
    ['{"traffic-policy-file": "policy.txt"}', 'is not a .yml or .yaml file'],
    ['{"pooling": "yes"}', 'pooling: '],
    ['{}', 'auth-token is required\nHint: set NGROK_AUTHTOKEN, or add --provider-args'],
    ['{"dry-run": true}', 'auth-token is required\nHint: set NGROK_AUTHTOKEN, or add --provider-args'],
    ['{"auth-token": " "}', 'auth-token: '],
  ])('refuses %s', async (settings, message) => {
    const { code, stderr } = await user.thv(...tunnel('http://127.0.0.1:1/mcp', '--provider-args', settings));

    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('a secret');
  });

  test('only tells what it would do when that is wished', async () => {
    const words = ['--provider-args', '{"dry-run": true, "auth-token": "a secret"}'];

    const stdout = await user.mustThv(...tunnel('http://127.0.0.1:1/mcp', ...words));

    expect(stdout).toMatch(/^ngrok http http:\/\/127\.0\.0\.1:1 /);
    expect(stdout).not.toContain('a secret');
  });
});

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
};

/** Asks for the tools, as a simple client does it. */
function post(url: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
  });
}

async function filesWith(folder: string, text: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const found = await Promise.all(
    paths.map(async (path) => ((await readFile(path)).includes(text) ? [path] : [])),
  );
  return found.flat();
}
