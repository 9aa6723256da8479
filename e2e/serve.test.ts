// @suite e2e (in depth)
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { isListening, makeUser, root, serve, thvScript, until } from './testing/thv.ts';

const execute = promisify(execFile);

test('prints its version without a daemon', async () => {
  proves('cli.version');
  await using user = await makeUser();

  const text = await user.mustThv('version');
  const json = JSON.parse(await user.mustThv('version', '--format', 'json')) as object;

  expect(text).toMatch(/^ToolHive v\d+\.\d+\.\d+$/m);
  expect(json).toEqual({
    version: expect.stringMatching(/^v\d/),
    node_version: process.version,
    platform: `${process.platform}/${process.arch}`,
  });
  expect(existsSync(join(user.home, '.local'))).toBe(false);
});

test('serves the API where it says, and its socket for the owner only', async () => {
  proves('api.base', 'api.openapi', 'api.version');
  await using user = await makeUser();
  await using daemon = await serve(user, '--host', '127.0.0.1');

  const version = await fetch(`${daemon.base}/api/v1beta/version`);
  const document = await fetch(`${daemon.base}/api/openapi.json`);
  const socket = await stat(join(user.home, '.local/state/toolhive/hive.sock'));

  expect(await version.json()).toEqual({ version: expect.stringMatching(/^v\d/) });
  expect(await document.json()).toMatchObject({ openapi: '3.1.0' });
  expect(socket.mode & 0o777).toBe(0o600);
});

test('serves a page about the API when that is wanted', async () => {
  await using user = await makeUser();
  await using daemon = await serve(user, '--openapi');
  await using other = await makeUser();
  await using without = await serve(other);

  const page = await fetch(`${daemon.base}/api/doc`);
  const text = await page.text();
  const nothing = await fetch(`${without.base}/api/doc`);

  expect([page.status, page.headers.get('content-type')]).toEqual([
    200,
    expect.stringMatching(/^text\/html/),
  ]);
  expect(text).toContain('<code>POST /api/v1beta/workloads</code>');
  expect(text).toContain('<a href="/api/openapi.json">');
  expect(text).not.toMatch(/<script|\/value<\/code>/);
  expect(daemon.output()).toContain(`Reference  ${daemon.base}/api/doc`);
  expect(nothing.status).toBe(404);
});

test('listens on port 8080 of loopback when nothing else is said', async () => {
  proves('api.default-address');
  await using user = await makeUser();
  // In a network of its own, so that nothing on this machine is in the way, and nothing sees it.
  const script = `
    const { spawn } = await import('node:child_process');
    const daemon = spawn(process.execPath, [${JSON.stringify(thvScript)}, 'serve'], { stdio: 'ignore' });
    let answer;
    while (answer === undefined) answer = await fetch('http://localhost:8080/version').catch(() => undefined);
    console.log(answer.status);
    daemon.kill('SIGTERM');`;

  const namespace = ['--unshare-net', '--dev-bind', '/', '/', '--die-with-parent'];
  const { stdout } = await execute(
    'bwrap',
    [...namespace, process.execPath, '--input-type=module', '--eval', script],
    { env: user.env },
  );

  expect(stdout).toBe('200\n');
});

test('says when its port belongs to another user', async () => {
  await using user = await makeUser();
  await using other = await makeUser();
  await using daemon = await serve(user);

  const { code, stderr } = await other.thv('serve', '--port', new URL(daemon.base).port);

  expect(code).toBe(3);
  expect(stderr).toMatch(/^Error: port \d+ on 127\.0\.0\.1 is in use by another program$/m);
});

test('ends with everything that it started when it is told to', async () => {
  await using user = await makeUser();
  const daemon = await serve(user);
  await user.mustThv('run', 'npx://toolhive-test-servers', '--name', 'echo');
  const [workload] = JSON.parse(await user.mustThv('list', '--format', 'json')) as { port: number }[];

  await daemon[Symbol.asyncDispose]();

  expect(daemon.child.exitCode).toBe(0);
  expect(await isListening(workload?.port ?? 0)).toBe(false);
  expect(existsSync(join(user.home, '.local/state/toolhive/hive.sock'))).toBe(false);
});

test('a command does not claim to have started the daemon that had only lost its socket', async () => {
  await using user = await makeUser();
  const first = await user.thv('list');
  const socket = join(user.home, '.local/state/toolhive/hive.sock');
  await rm(socket);

  const second = await user.thv('list');

  expect(first.stderr).toContain('started a daemon in the background');
  expect(second).toMatchObject({ code: 0, stderr: expect.not.stringContaining('started a daemon') });
  expect(existsSync(socket)).toBe(true);
});

test('npm start runs it from the repository, and passes on what stands behind --', async () => {
  await using user = await makeUser();
  const npm = spawn('npm', ['start', '--silent', '--', '--port', '0'], {
    cwd: root,
    env: user.env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  npm.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise((resolve) => npm.once('exit', resolve));

  const base = await until(() => /API +(http\S+)\/api\/v1beta/.exec(output)?.[1]);
  const version = await fetch(`${base}/version`);
  await user.api('POST', '/api/v1beta/hive/stop');
  await ended;

  expect(version.status).toBe(200);
  expect(output).toMatch(/OpenAPI +http.*\n +Web UI +http.*\n.*Health/);
});

test('ends on a signal, even without a reader of its output', async () => {
  await using user = await makeUser();
  const daemon = spawn(process.execPath, [thvScript, 'serve', '--port', '0'], {
    env: user.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => daemon.once('exit', resolve));
  await until(() => isListening(join(user.home, '.local/state/toolhive/hive.sock')));
  daemon.stdout.destroy();
  daemon.stderr.destroy();

  daemon.kill('SIGTERM');

  expect(await ended).toBe(0);
});

test('gives each token the rights that policies say', async () => {
  await using user = await makeUser();
  const [tokens, policies] = [join(user.home, 'tokens.txt'), join(user.home, 'policies.json')];
  await writeFile(tokens, 'reader a-token-to-read-with\nother  a-token-without-any-right\n');
  const permit = 'permit(principal == Client::"token:reader", action in Action::"read", resource);';
  await writeFile(
    policies,
    JSON.stringify({ version: '1.0', type: 'cedarv1', cedar: { policies: [permit] } }),
  );
  await using daemon = await serve(user, '--token-file', tokens, '--authz-config', policies);
  const ask = async (token: string, method: string, path: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${daemon.base}/api/v1beta${path}`, { method, headers })).status;
  };

  expect(await ask('a-token-to-read-with', 'GET', '/settings')).toBe(200);
  expect(await ask('a-token-to-read-with', 'POST', '/logs/prune')).toBe(403);
  expect(await ask('a-token-without-any-right', 'GET', '/settings')).toBe(403);
  expect(await ask('a-token-of-somebody-else', 'GET', '/settings')).toBe(401);
  expect(await user.mustThv('list')).toContain('No workload runs'); // the socket of the user has no policies
});

test.each([
  ['without tokens', ['--authz-config', '/nowhere'], /requires authentication/],
  ['without the token file', ['--token-file', '/nowhere'], /invalid --token-file: cannot read \/nowhere/],
  [
    'with a provider without TLS',
    ['--oidc-issuer', 'http://id.example.com', '--oidc-audience', 'x'],
    /invalid --oidc-issuer: http:\/\/id\.example\.com is not https/,
  ],
  [
    'with one token in the file, and another word',
    ['--token-file', 'TOKENS'],
    /invalid --token-file: entry 1 is not a name and a token/,
  ],
  [
    'with tools that know no policies',
    [
      '--oidc-issuer',
      'https://id.example.com',
      '--oidc-audience',
      'x',
      '--experimental-mcp',
      '--authz-config',
      '/nowhere',
    ],
    /does not apply the policies/,
  ],
])('does not serve %s', async (_what, words, message) => {
  await using user = await makeUser();
  await writeFile(join(user.home, 'tokens'), 'a b c\n');

  const { code, stderr } = await user.thv(
    'serve',
    ...words.map((word) => word.replace('TOKENS', join(user.home, 'tokens'))),
  );

  expect(code).toBe(2);
  expect(stderr).toMatch(message);
});
