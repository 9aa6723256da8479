// @suite published-servers
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectTo } from './testing/mcp.ts';
import { pathWithUv } from './testing/package-cache.ts';
import { makeUser, publicRegistries, root } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

// Published servers, packed as their authors would pack them, with the official tool.

/** A server that wants a credential before it starts. No account stands behind the credential. */
const onNpm = { name: 'tavily-mcp', version: '0.2.22', tool: 'tavily_search', credential: 'TAVILY_API_KEY' };
const onPyPi = { name: 'mcp-server-time', version: '2026.10.19', tool: 'get_current_time' };

const run = promisify(execFile);
const official = join(root, 'node_modules/.bin/mcpb');

let user: User;

beforeAll(async () => {
  user = await makeUser({ env: { ...publicRegistries(), PATH: await pathWithUv() } });
});
afterAll(async () => {
  await user?.[Symbol.asyncDispose]();
});

async function pack(directory: string, server: object, user_config: object = {}): Promise<string> {
  const name = directory.replace(/^.*\//, '');
  const about = {
    manifest_version: '0.4',
    name,
    version: '1.0.0',
    description: name,
    author: { name: 'Ada' },
  };
  await writeFile(join(directory, 'manifest.json'), JSON.stringify({ ...about, server, user_config }));
  await run(official, ['pack', directory, `${directory}.mcpb`]);
  return `${directory}.mcpb`;
}

async function toolsOf(bundle: string, ...flags: string[]): Promise<string[]> {
  const stdout = await user.mustThv('run', bundle, ...flags);
  await using client = await connectTo(/http:\S+/.exec(stdout)?.[0] ?? '');
  return await client.tools(); // before the client is closed
}

async function aDirectory(name: string, kind: string): Promise<string> {
  const directory = join(user.home, `${name.replaceAll(/\W+/g, '-')}-${kind}`);
  await mkdir(directory);
  return directory;
}

test('a server from npm runs as a bundle of Node.js', async () => {
  const { name, version, tool, credential } = onNpm;
  const directory = await aDirectory(name, 'node');
  await writeFile(join(directory, 'package.json'), JSON.stringify({ dependencies: { [name]: version } }));
  await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: directory,
    env: user.env,
  });
  const text = await readFile(join(directory, 'node_modules', name, 'package.json'), 'utf8');
  const { bin } = JSON.parse(text) as { bin: string | Record<string, string> };
  const program = typeof bin === 'string' ? bin : (Object.values(bin)[0] ?? '');
  const entry = join('node_modules', name, program);
  const field = { type: 'string', title: 'Key', description: 'A key', required: true, sensitive: true };

  const bundle = await pack(
    directory,
    {
      type: 'node',
      entry_point: entry,
      mcp_config: {
        command: 'node',
        args: [`\${__dirname}/${entry}`],
        env: { [credential]: '${user_config.credential}' },
      },
    },
    { credential: field },
  );

  expect(await toolsOf(bundle, '--config', 'credential=nobody')).toContain(tool);
});

test('a server from PyPI runs as a bundle of uv, and with its libraries', async () => {
  const { name, version, tool } = onPyPi;
  const withUv = await aDirectory(name, 'uv');
  const project = `[project]\nname = "x"\nversion = "1"\nrequires-python = ">=3.10"\ndependencies = ["${name}==${version}"]\n`;
  await writeFile(join(withUv, 'pyproject.toml'), project);
  const withLibraries = await aDirectory(name, 'python');
  // Not pip, which takes ten times the processor time of uv.
  const install = [
    'pip',
    'install',
    '--quiet',
    '--python',
    'python3',
    '--target',
    join(withLibraries, 'server/lib'),
  ];
  await run('uv', [...install, `${name}==${version}`], { env: user.env });
  const module = name.replaceAll('-', '_');
  await writeFile(join(withLibraries, 'server/main.py'), `from ${module} import main\nmain()\n`);

  const bundles = [
    await pack(withUv, {
      type: 'uv',
      entry_point: 'pyproject.toml',
      mcp_config: { command: 'uv', args: ['run', '--directory', '${__dirname}', name] },
    }),
    await pack(withLibraries, {
      type: 'python',
      entry_point: 'server/main.py',
      mcp_config: {
        command: 'python3',
        args: ['${__dirname}/server/main.py'],
        env: { PYTHONPATH: '${__dirname}/server/lib' },
      },
    }),
  ];

  for (const bundle of bundles) expect(await toolsOf(bundle)).toContain(tool);
});
