// @suite e2e (in depth)
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { packExtension } from '@anthropic-ai/mcpb';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { selfSigned } from '@toolhive/runtime/testing/self-signed';
import { proves } from '@toolhive/testing/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectTo } from './testing/mcp.ts';
import { pathWithUv } from './testing/package-cache.ts';
import { makeUser, publicRegistries, root } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

// Bundles as their authors publish them, packed with the official tool.

const official = join(root, 'node_modules/.bin/mcpb');
const mcpb = (...words: string[]) => promisify(execFile)(official, words);
const { key, certificate } = selfSigned('localhost');

let user: User;

beforeAll(async () => {
  user = await makeUser({ env: { ...publicRegistries(), PATH: await pathWithUv() } });
  const config = join(user.home, '.config/toolhive/config.yaml');
  await mkdir(dirname(config), { recursive: true });
  // The web server of these tests is on this machine.
  await writeFile(config, 'allow_private_registry_ip: true\n');
  await writeFile(join(user.home, 'ca.pem'), certificate);
});
afterAll(async () => {
  await user?.[Symbol.asyncDispose]();
});

/** A whole server in Node.js. Its tool `tell` tells what the server sees. */
const nodeServer = (version: string) => `
const fs = require('node:fs');
const attempt = (work) => { try { return work() ?? true; } catch ({ code }) { return code; } };
const tell = ({ paths = [] }) => ({
  version: '${version}',
  args: process.argv.slice(2),
  env: process.env,
  read: paths.map((path) => attempt(() => fs.readdirSync(path))),
  write: paths.map((path) => attempt(() => fs.writeFileSync(path + '/written', 'x'))),
});
const results = {
  initialize: () => ({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'tell', inputSchema: { type: 'object' } }] }),
  'tools/call': ({ arguments: given }) => ({ content: [{ type: 'text', text: JSON.stringify(tell(given ?? {})) }] }),
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: results[method]?.(params) ?? {} }));
});
`;

const node = {
  type: 'node',
  entry_point: 'index.js',
  mcp_config: { command: 'node', args: ['${__dirname}/index.js'] },
};

/** Packs a bundle with the official tool, in this process because its start takes longer than the packing. */
async function packed(name: string, manifest: object, files: Record<string, string>): Promise<string> {
  const directory = join(user.home, 'sources', name);
  await rm(directory, { recursive: true, force: true });
  const whole = {
    manifest_version: '0.4',
    name,
    version: '1.0.0',
    description: 'x',
    author: { name: 'Ada' },
    ...manifest,
  };
  for (const [path, text] of Object.entries({ 'manifest.json': JSON.stringify(whole), ...files })) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
    if (text.startsWith('#!')) await chmod(join(directory, path), 0o755);
  }
  const bundle = join(user.home, `${name}.mcpb`);
  await packExtension({ extensionPath: directory, outputPath: bundle, silent: true });
  return bundle;
}

const hashOf = async (path: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(path))
    .digest('hex');

const urlIn = (stdout: string): string => /http:\S+/.exec(stdout)?.[0] ?? '';

interface Told {
  version: string;
  args: string[];
  env: Record<string, string>;
  read: unknown[];
  write: unknown[];
}

async function tell(url: string, given: Record<string, unknown> = {}): Promise<Told> {
  await using client = await connectTo(url);
  const { text } = await client.call('tell', given);
  return JSON.parse(text) as Told;
}

async function urlOf(name: string): Promise<string> {
  const { text } = await user.api('GET', `/api/v1beta/workloads/${name}`);
  return (JSON.parse(text) as { proxy_url: string }).proxy_url;
}

async function toolsOf(...words: string[]): Promise<string[]> {
  await using client = await connectTo(urlIn(await user.mustThv('run', ...words)));
  return await client.tools(); // before the client is closed
}

const fields = {
  notes: { type: 'directory', title: 'Notes', description: 'Folders', multiple: true, required: true },
  token: { type: 'string', title: 'Token', description: 'A token', required: true, sensitive: true },
  limit: { type: 'number', title: 'Limit', description: 'A limit', min: 1, max: 10, default: 3 },
  other: { type: 'string', title: 'Other', description: 'Not needed' },
  home: { type: 'directory', title: 'Home', description: 'A folder', default: '${HOME}' },
};

const configured = {
  server: {
    ...node,
    mcp_config: {
      command: 'node',
      args: [
        '${__dirname}/index.js',
        '--limit=${user_config.limit}',
        '--other',
        '${user_config.other}',
        '--token',
        '${user_config.token}',
        '${user_config.notes}',
      ],
      env: {
        AUTHORIZATION: 'Bearer ${user_config.token}',
        PLACE: '${HOME}${/}x',
        OTHER: '${user_config.other}',
      },
    },
  },
  user_config: fields,
};

describe('a bundle', () => {
  test('gets the values of its user, and sees only the folders that the user names', async () => {
    proves('run.bundle');
    const bundle = await packed('configured', configured, { 'index.js': nodeServer('1') });
    const [one, two] = [join(user.home, 'one'), join(user.home, 'two')];
    for (const folder of [one, two]) await mkdir(folder);

    const words = [
      '--config',
      `notes=${one}`,
      '--config',
      `notes=${two}:ro`,
      '--config',
      'token=canary-4711',
      '--config',
      'home=',
    ];
    const stdout = await user.mustThv('run', bundle, ...words);
    const told = await tell(urlIn(stdout), { paths: [one, two, user.home] });

    expect(told.args).toEqual(['--limit=3', '--token', 'canary-4711', one, two]);
    expect(told.env).toMatchObject({ AUTHORIZATION: 'Bearer canary-4711', PLACE: '/home/server/x' });
    expect(told.env).not.toHaveProperty('OTHER');
    expect(told.write.slice(0, 2)).toEqual([true, 'EROFS']);
    expect(told.read[2]).toEqual(['one', 'two']);
    const { text: described } = await user.api('GET', '/api/v1beta/workloads/configured');
    const { text: exported } = await user.api('GET', '/api/v1beta/workloads/configured/export');
    expect(JSON.parse(exported)).toMatchObject({
      user_config: { notes: [one, two], home: [] },
      secrets: ['configured-token,target=user_config.token'],
    });
    expect(described + exported).not.toContain('canary');
  });

  test('names all values that it needs, and is not run without them', async () => {
    const bundle = await packed('unanswered', configured, { 'index.js': nodeServer('1') });

    const { code, stderr } = await user.thv('run', bundle);

    expect(code).not.toBe(0);
    expect(stderr).toContain('unanswered needs notes, token, home');
    expect(stderr).toContain('add --config notes=VALUE');
    expect(stderr).toContain('store it with thv secret set unanswered-token');
    expect(stderr).toContain(`the bundle proposes ${user.home}`);
    expect((await user.api('GET', '/api/v1beta/workloads/unanswered')).status).toBe(404);
  });

  test.each([
    [['--config', 'limit=11'], 'limit takes a number from 1 up to 10, and "11" is outside'],
    [['--config', 'unknown=1'], 'has no field unknown'],
    [['--config', 'token=canary-1', '--config', 'token=canary-2'], 'token is sensitive, and takes one value'],
    [['--config', 'notes=/missing-folder'], '/missing-folder'],
    [['--config', 'novalue'], '--config takes NAME=VALUE'],
  ])('with %j is refused', async (words, message) => {
    const bundle = await packed('refused', configured, { 'index.js': nodeServer('1') });
    const others = ['token=canary-3', `notes=${user.home}`].filter(
      (one) => !words.join(' ').includes(one.replace(/=.*/, '=')),
    );

    const given = ['home=', ...others].flatMap((one) => ['--config', one]);
    const { code, stderr } = await user.thv('run', bundle, ...given, ...words);

    expect(code).not.toBe(0);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('canary');
  });

  test('keeps running what its user ran, whatever happens to the file', async () => {
    const bundle = await packed('kept', { server: node }, { 'index.js': nodeServer('first') });
    const hash = await hashOf(bundle);
    await user.mustThv('run', bundle);
    await packed('kept', { server: node }, { 'index.js': nodeServer('second') });

    await user.mustThv('restart', 'kept');
    const restarted = await tell(await urlOf('kept'));
    await rm(join(user.home, '.cache/toolhive/packages/mcpb'), { recursive: true });
    await user.mustThv('restart', 'kept');
    const unpackedAgain = await tell(await urlOf('kept'));
    const again = await tell(urlIn(await user.mustThv('run', bundle, '--name', 'again')));

    expect([restarted.version, unpackedAgain.version, again.version]).toEqual(['first', 'first', 'second']);
    expect(await user.mustThv('list')).toContain(`${bundle}@sha256-${hash}`);
  });

  test('with other content than its hash says is refused, and both hashes are named', async () => {
    const bundle = await packed('other', { server: node }, { 'index.js': nodeServer('1') });
    const wanted = 'a'.repeat(64);

    const { code, stderr } = await user.thv('run', `mcpb://${bundle}@sha256-${wanted}`);

    expect(code).not.toBe(0);
    expect(stderr).toContain(`has the SHA-256 ${await hashOf(bundle)} instead of ${wanted}`);
    expect(await readdir(join(user.home, '.local/state/toolhive/bundles'))).not.toContainEqual(
      expect.stringMatching(/new$/),
    );
  });

  test.each([
    ['a relative path', (path: string) => `./${path}`],
    ['a path of the home directory', (path: string) => `~/${path}`],
    ['the URL of a file', (path: string) => `file://${user.home}/${encodeURI(path)}`],
    ['the scheme of bundles', (path: string) => `mcpb://~/${path}`],
  ])('is found by %s with spaces, and by its former name', async (_what, word) => {
    const bundle = await packed(
      'spaces',
      { server: node, manifest_version: undefined, dxt_version: '0.1' },
      { 'index.js': nodeServer('1') },
    );
    const path = 'my server.DXT';
    await writeFile(join(user.home, path), await readFile(bundle));
    const run = promisify(execFile);

    const words = ['run', word(path), '--name', 'spaced'];
    const { stdout } = await run(process.execPath, [join(root, 'apps/cli/bin/thv.js'), ...words], {
      cwd: user.home,
      env: user.env,
    });
    await user.mustThv('rm', 'spaced');

    expect(stdout).toContain('spaced runs at');
  });

  test('that only downloads a package, or starts another program, is refused with a reason', async () => {
    const npx = { ...node, mcp_config: { command: 'npx', args: ['-y', '@example/server'] } };
    const shell = { ...node, mcp_config: { command: '/bin/sh', args: ['-c', 'id'] } };

    const first = await user.thv('run', await packed('npx', { server: npx }, { 'index.js': '1' }));
    const second = await user.thv('run', await packed('shell', { server: shell }, { 'index.js': '1' }));

    expect(first.stderr).toContain('thv run npx://@example/server');
    expect(second.stderr).toContain('starts "/bin/sh", which a node bundle cannot');
  });
});

test('the changed file of a bundle is noticed, and runs after an upgrade unless it asks for more', async () => {
  const bundle = await packed('changing', { server: node }, { 'index.js': nodeServer('old') });
  await user.mustThv('run', bundle);
  await packed('changing', { server: node }, { 'index.js': nodeServer('new') });

  const outdated = await user.mustThv('outdated');
  await user.mustThv('upgrade', 'changing', '--yes');
  const upgraded = await tell(await urlOf('changing'));
  await packed('changing', configured, { 'index.js': nodeServer('greedy') });
  const refused = await user.thv('upgrade', 'changing', '--yes');

  expect(outdated).toContain(await hashIn('changing'));
  expect(upgraded.version).toBe('new');
  expect(refused.stderr).toContain('the bundle changing needs notes, token, home');
  expect(await tell(await urlOf('changing'))).toMatchObject({ version: 'new' });

  async function hashIn(name: string): Promise<string> {
    const { text } = await user.api('GET', `/api/v1beta/workloads/${name}/export`);
    return /sha256-[0-9a-f]{64}/.exec(text)?.[0] ?? 'none';
  }
});

describe('a bundle of the type', () => {
  const pythonServer = (imports: string) => `
${imports}
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    result = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "p", "version": "1"}}, "tools/list": {"tools": [{"name": TOOL, "inputSchema": {"type": "object"}}]}}.get(message["method"], {})
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
`;

  test('python runs with the libraries that it contains', async () => {
    const server = {
      type: 'python',
      entry_point: 'server/main.py',
      mcp_config: {
        command: 'python',
        args: ['${__dirname}/server/main.py'],
        env: { PYTHONPATH: '${__dirname}/server/lib' },
      },
    };
    const files = {
      'server/main.py': pythonServer('from helper import TOOL'),
      'server/lib/helper.py': 'TOOL = "bundled"\n',
    };

    expect(await toolsOf(await packed('python', { server }, files))).toEqual(['bundled']);
  });

  test('uv runs with its dependencies from the package index', async () => {
    const server = {
      type: 'uv',
      entry_point: 'main.py',
      mcp_config: { command: 'uv', args: ['run', '--directory', '${__dirname}', 'main.py'] },
    };
    const files = {
      'main.py': pythonServer('import typing_extensions\nTOOL = "with-" + typing_extensions.__name__'),
      'pyproject.toml':
        '[project]\nname = "x"\nversion = "1"\nrequires-python = ">=3.10"\ndependencies = ["typing-extensions"]\n',
    };

    expect(await toolsOf(await packed('uv', { server }, files))).toEqual(['with-typing_extensions']);
  });

  test('binary runs a program of its own', async () => {
    const server = {
      type: 'binary',
      entry_point: 'server/run',
      mcp_config: { command: '${__dirname}/server/run' },
    };
    const script = `#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\\([0-9]*\\).*/\\1/p')
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"b","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"binary","inputSchema":{"type":"object"}}]}' ;;
    *) result='{}' ;;
  esac
  [ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$result"
done
`;

    expect(await toolsOf(await packed('binary', { server }, { 'server/run': script }))).toEqual(['binary']);
  });

  test('binary with a program of the machine is refused', async () => {
    const server = { type: 'binary', entry_point: 'a.jar', mcp_config: { command: 'java', args: ['-jar'] } };

    const { stderr } = await user.thv('run', await packed('java', { server }, { 'a.jar': '' }));

    expect(stderr).toContain('a bundle starts programs that it contains, and none of this machine');
  });

  test('binary for another processor is refused', async () => {
    const server = { type: 'binary', entry_point: 'run', mcp_config: { command: '${__dirname}/run' } };
    const elf = `\x7fELF\x02\x01\x01${'\0'.repeat(9)}\x03\0\x99\0${'\0'.repeat(40)}`;
    const bundle = await packed('foreign', { server }, { run: elf });

    const { stderr } = await user.thv('run', bundle);

    expect(stderr).toContain('is for another processor');
  });
});

/** A web server with files, and redirects. */
async function openSite(answers: Record<string, Buffer | string>) {
  const server = createServer({ key, cert: certificate }, ({ url = '' }, response) => {
    const answer = answers[url.split('?')[0] ?? ''];
    if (answer === undefined) response.writeHead(404).end();
    else if (typeof answer === 'string') response.writeHead(302, { location: answer }).end();
    else response.end(answer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe('a bundle on a web server', () => {
  test('is downloaded over https, also behind a redirect', async () => {
    const bundle = await packed('web', { server: node }, { 'index.js': nodeServer('web') });
    await using site = await openSite({ '/web.mcpb': await readFile(bundle), '/latest.mcpb': '/web.mcpb' });
    const certificates = ['--ca-cert', join(user.home, 'ca.pem')];

    const stdout = await user.mustThv('run', `${site.url}/latest.mcpb?token=canary-1`, ...certificates);
    const missing = await user.thv('run', `${site.url}/missing.mcpb`, ...certificates);
    const untrusted = await user.thv('run', `${site.url}/web.mcpb`, '--name', 'untrusted');

    expect(await tell(urlIn(stdout))).toMatchObject({ version: 'web' });
    expect(missing.stderr).toContain(`${site.url}/missing.mcpb not found`);
    expect(untrusted.stderr).toContain('add --ca-cert FILE');
  });

  test.each([
    ['http://localhost:1/a.mcpb', 'is not https'],
    ['https://ada:canary-2@localhost:1/a.mcpb', 'is not a bundle'],
    ['https://169.254.169.254/a.mcpb', '169.254.169.254'],
  ])('at %s is refused', async (url, message) => {
    const { code, stderr } = await user.thv('run', url);

    expect(code).not.toBe(0);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('canary');
  });

  test('that redirects to plain http is refused', async () => {
    await using site = await openSite({ '/a.mcpb': 'http://localhost:1/a.mcpb' });

    const { stderr } = await user.thv('run', `${site.url}/a.mcpb`, '--ca-cert', join(user.home, 'ca.pem'));

    expect(stderr).toContain('redirects to plain http');
  });

  test('runs as a registry entry with the right hash only', async () => {
    const bundle = await packed('listed', { server: node }, { 'index.js': nodeServer('listed') });
    await using site = await openSite({ '/listed.mcpb': await readFile(bundle) });
    const entry = (name: string, fileSha256: string) => ({
      name: `io.example/${name}`,
      description: 'x',
      version: '1.0.0',
      packages: [
        {
          registryType: 'mcpb',
          identifier: `${site.url}/listed.mcpb`,
          fileSha256,
          transport: { type: 'stdio' },
        },
      ],
    });
    await using other = await makeUser();
    const registry = join(other.home, 'registry.json');
    const wrong = 'b'.repeat(64);
    await writeFile(
      registry,
      JSON.stringify([entry('listed', await hashOf(bundle)), entry('replaced', wrong)]),
    );
    await mkdir(join(other.home, '.config/toolhive'), { recursive: true });
    const settings = `allow_private_registry_ip: true\nlocal_registry_path: ${registry}\n`;
    await writeFile(join(other.home, '.config/toolhive/config.yaml'), settings);
    await other.mustThv('config', 'set-ca-cert', join(user.home, 'ca.pem'));

    const stdout = await other.mustThv('run', 'io-example-listed');
    const refused = await other.thv('run', 'io-example-replaced');

    expect(await tell(urlIn(stdout))).toMatchObject({ version: 'listed' });
    expect(refused.stderr).toContain(`has the SHA-256 ${await hashOf(bundle)} instead of ${wrong}`);
  });
});

test('a packed directory runs, and an exported workload connects clients without a secret', async () => {
  proves('bundle.pack');
  await packed('exported', configured, { 'index.js': nodeServer('exported') });
  const sources = join(user.home, 'sources/exported');
  await user.mustThv('pack', sources, '-o', join(user.home, 'own.mcpb'));
  const words = ['--config', `notes=${sources}`, '--config', 'token=canary-9', '--config', 'home='];
  await user.mustThv('run', join(user.home, 'own.mcpb'), ...words);

  await user.mustThv('export', 'exported', join(user.home, 'connector.mcpb'), '--format', 'mcpb');
  const unpacked = join(user.home, 'connector');
  await mcpb('unpack', join(user.home, 'connector.mcpb'), unpacked);
  const { stdout } = await mcpb('validate', join(unpacked, 'manifest.json'));
  const manifest = await readFile(join(unpacked, 'manifest.json'), 'utf8');
  const { user_config: config } = JSON.parse(manifest) as { user_config: { url: { default: string } } };
  const client = new Client({ name: 'test', version: '1' });
  const env = { PATH: process.env['PATH'] ?? '', WORKLOAD_URL: config.url.default };
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [join(unpacked, 'server/index.js')], env }),
  );
  const { content } = await client.callTool({ name: 'tell', arguments: {} });
  await client.close();

  expect(stdout).toContain('Manifest schema validation passes!');
  expect(JSON.stringify(content)).toContain('exported');
  expect(manifest + (await readFile(join(unpacked, 'server/index.js'), 'utf8'))).not.toContain('canary');
});
