// @suite system (in depth)
import { access, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Launch, Runtime } from '../runtime.ts';
import { parseSource } from '../source.ts';
import { aLaunch } from '../testing/conformance.ts';
import { type NpmRegistry, openNpmRegistry } from '../testing/npm-registry.ts';
import { openProcessRuntime } from './process.ts';
import { never, outputOf } from './test-rig.ts';

let folder: string;
let registry: NpmRegistry;
let runtime: Runtime;
let workload: string;
let workloads = 0;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'thv-layer-')));
  registry = await openNpmRegistry([
    await publish('writer', '1.0.0'),
    await publish('writer', '2.0.0'),
    await publish('needed', '1.0.0'),
  ]);
  runtime = openProcessRuntime({
    daemonId: `layer-${folder.slice(-6)}`,
    cacheDir: join(folder, 'cache'),
    tempDir: join(folder, 'tmp'),
    bundlesDir: join(folder, 'bundles'),
    homesDir: join(folder, 'homes'),
    env: { ...process.env, npm_config_registry: registry.url },
  });
});
afterAll(async () => {
  await registry[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(() => {
  workload = `server-${++workloads}`;
});

/** A package whose server runs what its argument says, in the directory of its program. */
async function publish(name: string, version: string): Promise<string> {
  const place = join(folder, 'sources', `${name}-${version}`);
  const files = {
    'package.json': JSON.stringify({
      name,
      version,
      bin: 'main.js',
      ...(name === 'writer' ? { dependencies: { needed: '1' } } : {}),
    }),
    'main.js': `#!/usr/bin/env node\nprocess.chdir(__dirname);\nconst fs = require('fs');\nconst say = (text) => console.log(text);\nsay(eval(process.argv[2]) ?? 'done');\n`,
    'lib/helper.js': `module.exports = 'published ${version}';\n`,
    'data.json': '{}',
    'tool.sh': '#!/bin/sh\necho published\n',
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(place, path, '..'), { recursive: true });
    await writeFile(join(place, path), text);
  }
  return place;
}

/** Lets the server of a workload run code, and returns what it said and what ToolHive noted. */
async function run(
  code: string,
  { version = '1.0.0', ...changes }: Partial<Launch> & { version?: string } = {},
) {
  const text = changes.source === undefined ? `npx://writer@${version}` : '';
  const source =
    changes.source ?? (await runtime.prepare(parseSource(text), { report: () => {}, signal: never }));
  let noted = '';
  const log = (chunk: Buffer) => (noted += chunk.toString());
  const launch = { workload, home: 'persistent' as const, args: [code], ...changes, log };
  await using instance = await runtime.start(aLaunch(source, launch), never);
  const said = await outputOf(instance);
  return { said: said.trim(), noted, limits: (instance.limits ?? []).map((limit) => limit.text) };
}

describe("the package's own directory", () => {
  test('keeps the data that a server writes beside its code', async () => {
    await run(`fs.writeFileSync('memory.json', 'kept'); fs.writeFileSync('data.json', 'changed')`);

    const { said, noted } = await run(`fs.readFileSync('memory.json') + ' ' + fs.readFileSync('data.json')`);

    expect(said).toBe('kept changed');
    expect(noted).toBe('');
  });

  test('belongs to one workload', async () => {
    await run(`fs.writeFileSync('memory.json', 'private')`);

    const { said } = await run(`fs.existsSync('memory.json')`, { workload: `${workload}-other` });

    expect(said).toBe('false');
  });

  test('is read-only for a server of which nothing is kept', async () => {
    const { said, noted } = await run(`fs.writeFileSync('memory.json', '')`, { home: 'ephemeral' });

    expect(said).toBe('');
    expect(noted).toContain('EROFS');
  });

  test.each(['../needed/data.json', '../needed/new.json', '../new.json', '../../installed.json'])(
    'does not make %s writable',
    async (path) => {
      const { noted } = await run(`fs.writeFileSync('${path}', '')`);

      expect(noted).toContain('EROFS');
    },
  );

  test('counts as stored files, which are removed with the workload', async () => {
    await run('1');
    const before = await runtime.homes.measure(workload);
    await run(`fs.writeFileSync('large.bin', Buffer.alloc(2 ** 20, 1))`);

    const after = await runtime.homes.measure(workload);
    await runtime.homes.remove(workload);

    expect(before).toMatchObject({ isEmpty: true });
    expect(after?.isEmpty).toBe(false);
    expect((after?.bytes ?? 0) - (before?.bytes ?? 0)).toBeGreaterThanOrEqual(2 ** 20);
    expect((await run(`fs.existsSync('large.bin')`)).said).toBe('false');
  });

  test('starts from the package again after an upgrade, and a note says what was discarded', async () => {
    await run(`fs.writeFileSync('memory.json', 'of the first version'.repeat(1000))`);

    const { said, limits } = await run(`fs.existsSync('memory.json') + require('./lib/helper.js')`, {
      version: '2.0.0',
    });

    expect(said).toBe('falsepublished 2.0.0');
    expect(limits).toEqual([
      'the files that the server stored beside its program were discarded, because npx://writer@2.0.0 replaced npx://writer@1.0.0',
    ]);
  });

  test('is discarded without a note if nothing was stored', async () => {
    await run('1');

    expect((await run('1', { version: '2.0.0' })).limits).toEqual([]);
  });

  test('belongs to the package of a local directory, but its dependencies do not', async () => {
    const place = await publish('local', '1.0.0');
    await writeFile(
      join(place, 'package.json'),
      JSON.stringify({ name: 'local', version: '1.0.0', bin: 'main.js', dependencies: { needed: '1' } }),
    );
    const source = await runtime.prepare(parseSource(`npx://${place}`), { report: () => {}, signal: never });
    await run(`fs.writeFileSync('memory.json', 'kept')`, { source });

    const { said } = await run(`fs.readFileSync('memory.json') + require('needed/lib/helper.js')`, {
      source,
    });
    const { noted } = await run(`fs.writeFileSync('node_modules/needed/data.json', '')`, { source });

    expect(said).toBe('keptpublished 1.0.0');
    expect(noted).toContain('EROFS');
  });
});

/** What a server can do to its program, with the file that a note names. */
const attacks: readonly (readonly [string, string, string])[] = [
  ['changes its program', `fs.appendFileSync('main.js', '\\nsay("changed")')`, 'main.js'],
  ['changes a module', `fs.writeFileSync('lib/helper.js', 'module.exports = "changed"')`, 'lib/helper.js'],
  [
    'changes a module without a new size',
    `fs.writeFileSync('lib/helper.js', fs.readFileSync('lib/helper.js', 'utf8').replace('published', 'PUBLISHED'))`,
    'lib/helper.js',
  ],
  ['changes its manifest', `fs.writeFileSync('package.json', '{"main":"x"}')`, 'package.json'],
  ['changes a script', `fs.writeFileSync('tool.sh', '#!/bin/sh\\nid')`, 'tool.sh'],
  ['deletes a module', `fs.rmSync('lib/helper.js')`, 'lib/helper.js'],
  ['deletes a directory of modules', `fs.rmSync('lib', { recursive: true })`, 'lib/helper.js'],
  ['adds a module', `fs.writeFileSync('lib/helper.mjs', '')`, 'lib/helper.mjs'],
  ['adds a package', `fs.mkdirSync('lib/node_modules/x', { recursive: true })`, 'lib/node_modules'],
  ['adds a native module', `fs.writeFileSync('extra', '\\x7fELF')`, 'extra'],
  ['adds a program', `fs.writeFileSync('extra', 'x', { mode: 0o755 })`, 'extra'],
  ['makes data executable', `fs.chmodSync('data.json', 0o755)`, 'data.json'],
  ['adds a link', `fs.symlinkSync('/home/server/evil', 'plugin')`, 'plugin'],
  [
    'puts a link in place of a module',
    `fs.rmSync('lib/helper.js'); fs.symlinkSync('/home/server/evil.js', 'lib/helper.js')`,
    'lib/helper.js',
  ],
  [
    'puts a link in place of a directory',
    `fs.rmSync('lib', { recursive: true }); fs.symlinkSync('/home/server', 'lib')`,
    'lib',
  ],
  [
    'hides a changed module in a directory that cannot be listed',
    `fs.writeFileSync('lib/helper.js', ''); fs.chmodSync('lib', 0o111)`,
    'lib/helper.js',
  ],
  ['makes a module unreadable', `fs.chmodSync('lib/helper.js', 0)`, 'lib/helper.js'],
  [
    'adds a module with a name that is not valid',
    `fs.writeFileSync(Buffer.from([0x6c, 0x69, 0x62, 0x2f, 0xff, 0x2e, 0x6a, 0x73]), '')`,
    'lib/\ufffd.js',
  ],
  [
    'puts a directory in place of a module',
    `fs.rmSync('lib/helper.js'); fs.mkdirSync('lib/helper.js')`,
    'lib/helper.js',
  ],
];

describe('a server that', () => {
  test.each(attacks)(
    '%s runs the published program at its next start, and a note says so',
    async (_title, code, path) => {
      await run(`fs.writeFileSync('memory.json', 'kept'); ${code}`);

      const next = await run(
        `fs.readFileSync('memory.json') + ' ' + require('./lib/helper.js') + fs.existsSync('plugin')`,
      );
      const third = await run('1');

      expect(next.said).toBe('kept published 1.0.0false');
      expect(next.limits).toEqual([expect.stringContaining(`node_modules/writer/${path}`)]);
      expect(next.noted).toContain('[toolhive] the server had changed its own program');
      expect(third.limits).toEqual([]);
    },
  );

  test.each(attacks)('%s does not start again if changes are blocked', async (_title, code, path) => {
    await run(code);

    const starting = run('1', { refusesChangedCode: true });

    await expect(starting).rejects.toMatchObject({
      kind: 'conflict',
      message: `the server has changed its own program: node_modules/writer/${path}`,
    });
    await expect(run('1', { refusesChangedCode: true })).rejects.toMatchObject({ kind: 'conflict' });
  });

  test.each([false, true])(
    'leaves compiled Python files behind runs without them, with blocked changes: %s',
    async (refusesChangedCode) => {
      await run(
        `fs.mkdirSync('lib/__pycache__'); fs.writeFileSync('lib/__pycache__/helper.cpython-313.pyc', 'x');
        fs.symlinkSync('/home/server', '__pycache__')`,
      );

      const { said, limits } = await run(`fs.readdirSync('lib') + ' ' + fs.existsSync('__pycache__')`, {
        refusesChangedCode,
      });

      expect(said).toBe('helper.js false');
      expect(limits).toEqual([]);
    },
  );

  test('is published with compiled Python files runs without them', async () => {
    const place = await publish('compiled', '1.0.0');
    await mkdir(join(place, '__pycache__'));
    await writeFile(join(place, '__pycache__/helper.cpython-313.pyc'), '');
    const source = await runtime.prepare(parseSource(`npx://${place}`), { report: () => {}, signal: never });
    const first = await run(`fs.existsSync('__pycache__')`, { source });

    const next = await run(`fs.existsSync('__pycache__')`, { source, refusesChangedCode: true });

    expect([first.said, next.said]).toEqual(['false', 'false']);
    expect(next.limits).toEqual([]);
  });

  test('puts links to a directory of this machine into its package changes nothing there', async () => {
    const outside = join(folder, `outside-${workload}`);
    await mkdir(outside);
    await writeFile(join(outside, 'helper.js'), 'of the user');
    await run(`fs.rmSync('lib', { recursive: true }); fs.symlinkSync('${outside}', 'lib')`);

    const { said } = await run(`require('./lib/helper.js')`);

    expect(said).toBe('published 1.0.0');
    expect(await readFile(join(outside, 'helper.js'), 'utf8')).toBe('of the user');
    await expect(access(join(outside, 'data.json'))).rejects.toThrow('ENOENT');
  });
});
