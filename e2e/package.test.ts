// @suite e2e (in depth)
import { execFile } from 'node:child_process';
import { cp, mkdtempDisposable, readFile, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unbundled } from '../scripts/build.ts';
import { proves } from '@toolhive/testing/promises';
import { connectTo } from './testing/mcp.ts';
import { makeUser, publicRegistries, root, testServer } from './testing/thv.ts';
import { webUiOf } from './testing/web-ui.ts';

const execute = promisify(execFile);

/** What people download, and what it takes on their disk. */
const maxPackedBytes = 2_920_000;
const maxUnpackedBytes = 8_400_000;

const resources = new AsyncDisposableStack();
let folder: string;
let packed: { filename: string; size: number; unpackedSize: number };
/** Where npm has put it. */
let installed: string;

beforeAll(async () => {
  const work = resources.use(await mkdtempDisposable(join(tmpdir(), 'thv-package-')));
  folder = work.path;
  // The settings of an `npm` that runs this test would make another npm work in this repository.
  const env = { PATH: process.env['PATH'], HOME: folder, ...publicRegistries() };
  const pack = ['pack', '--workspace', 'toolhive', '--json', '--pack-destination', folder];
  const { stdout } = await execute('npm', pack, { cwd: root, env });
  [packed] = JSON.parse(stdout) as [typeof packed];
  await execute('npm', ['install', '--no-audit', join(folder, packed.filename)], { cwd: folder, env });
  installed = join(folder, 'node_modules/toolhive');
});
afterAll(() => resources.disposeAsync());

describe('the npm package', () => {
  test('is as a package should be', async () => {
    const tarball = new Uint8Array(await readFile(join(folder, packed.filename))).buffer;

    const { messages, pkg } = await publint({ strict: true, pack: { tarball } });

    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  test('is small', () => {
    expect(packed.size).toBeLessThan(maxPackedBytes);
    expect(packed.unpackedSize).toBeLessThan(maxUnpackedBytes);
  });

  test('has its licenses, and no path of the machine that made it', async () => {
    const entries = await readdir(installed, { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => relative(installed, join(entry.parentPath, entry.name)));
    const texts = await Promise.all(files.map((file) => readFile(join(installed, file), 'utf8')));

    expect(await readdir(installed)).toEqual(['LICENSE', 'README.md', 'bin', 'dist', 'package.json']);
    expect(await readFile(join(installed, 'dist/licenses.txt'), 'utf8')).toContain('--- zod ');
    expect(files).not.toContain('dist/inputs.json');
    expect(files.filter((_, index) => texts[index]?.includes(root))).toEqual([]);
  });

  test('brings only what cannot be bundled, in the versions that are tested', async () => {
    const manifest = await manifestOf(installed);
    const [secrets, access] = await Promise.all(
      ['secrets', 'access'].map((name) => manifestOf(join(root, 'packages', name))),
    );
    const tested = { ...secrets?.dependencies, ...access?.dependencies };
    const scopes = await readdir(join(folder, 'node_modules'));

    expect(manifest.dependencies).toBeUndefined();
    expect(manifest.optionalDependencies).toEqual(
      Object.fromEntries(unbundled.map((name) => [name, tested[name]])),
    );
    expect(scopes.filter((name) => !name.startsWith('.'))).toEqual([
      '@1password',
      '@cedar-policy',
      '@napi-rs',
      'toolhive',
    ]);
  });

  test('runs, calls and removes a server where nothing else is', async () => {
    proves('distribution.npm');
    const thv = join(folder, 'node_modules/.bin/thv');
    const path = [dirname(process.execPath), process.env['PATH']].join(delimiter);
    await using user = await makeUser({ env: { PATH: path }, program: [thv] });

    const version = await user.mustThv('version');
    const help = await user.mustThv('--help');
    const webUi = await webUiOf(user);
    const ran = await user.mustThv('run', '--proxy-mode', 'streamable-http', testServer);
    const said = await callEcho(/http:\S+/.exec(ran)?.[0] ?? '');
    await user.mustThv('rm', '--yes', 'toolhive-test-servers');

    expect(version).toContain(`v${(await manifestOf(installed)).version}`);
    expect(help).toContain('Usage:');
    expect(webUi).toEqual([200, 200]);
    expect(said).toContain('from the package');
    expect(await user.mustThv('list', '--all')).not.toContain('toolhive-test-servers');
  });

  test('says which of its optional packages is missing', async () => {
    await using elsewhere = await mkdtempDisposable(join(tmpdir(), 'thv-package-'));
    await cp(installed, elsewhere.path, { recursive: true });
    const script = join(elsewhere.path, 'bin/thv.js');
    await using user = await makeUser({
      env: { OP_SERVICE_ACCOUNT_TOKEN: 'no token' },
      program: [process.execPath, '--', script],
    });

    const { code, stderr } = await user.thv('secret', 'provider', '1password');

    expect(code).not.toBe(0);
    expect(stderr).toContain('@1password/sdk is missing');
  });

  test('says in one line that an older Node.js is not enough', async () => {
    const older = `Object.defineProperty(process, 'versions', { value: { node: '22.21.0' } });`;
    const script = join(installed, 'bin/thv.js');

    const imports = ['--import', `data:text/javascript,${encodeURIComponent(older)}`];
    await using user = await makeUser({ program: [process.execPath, ...imports, '--', script] });

    const { code, stderr } = await user.thv('version');

    expect(code).toBe(1);
    expect(stderr).toMatch(/^thv needs Node\.js 24 or newer.*\n$/);
  });
});

interface Manifest {
  version: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

async function manifestOf(where: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(where, 'package.json'), 'utf8')) as Manifest; // npm has looked at it
}

async function callEcho(url: string): Promise<string> {
  await using client = await connectTo(url);
  const { text } = await client.call('echo', { message: 'from the package' });
  return text;
}
