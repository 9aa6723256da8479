// @suite system
import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import { makeHome } from '@toolhive/core/testing';
import { beforeAll, describe, expect, test } from 'vitest';
import { buildCli, loadedByNeed, root } from './build.ts';

test('builds nothing again when nothing has changed', async () => {
  const bundle = new URL('../apps/cli/dist/thv.js', import.meta.url);
  await buildCli();
  const before = await stat(bundle);

  await buildCli();

  const after = await stat(bundle);
  expect([after.ino, after.mtimeMs]).toEqual([before.ino, before.mtimeMs]);
});

/** At its end, a program prints which files it compiled, and whether V8 accepted the cache of each. */
const report = `
  import { createRequire } from 'node:module';
  const require = createRequire('/');
  const vm = require('node:vm');
  const files = [];
  vm.Script = class extends vm.Script {
    constructor(text, options) {
      super(text, options);
      files.push([options.filename.split('/').at(-1), this.cachedDataRejected === false]);
    }
  };
  process.on('exit', () => require('node:fs').writeSync(2, 'compiled ' + JSON.stringify(files)));`;

describe('the code caches', () => {
  beforeAll(() => buildCli());

  test('have all that a short command compiles, which is one file', async () => {
    expect(await compiledBy(['version'])).toEqual([['short-commands.js', true]]);
  });

  test('have all that the help of all commands compiles', async () => {
    const files = await compiledBy(['--help']);

    expect(files.length).toBeGreaterThan(1);
    expect(files.filter(([, isCached]) => !isCached)).toEqual([]);
  });

  test('have what a daemon compiles when it starts', async () => {
    const files = await compiledBy(['serve', '--port', '0'], 'Health');

    expect(files.find(([name]) => name.startsWith('serve-'))?.[1]).toBe(true);
    expect(files.filter(([, isCached]) => isCached).length).toBeGreaterThan(0.8 * files.length);
  });
});

/** Runs a command to its end, or until it has printed a word, and returns the names of the compiled files. */
async function compiledBy(words: readonly string[], last?: string): Promise<[string, boolean][]> {
  await using home = await makeHome();
  const preload = `data:text/javascript,${encodeURIComponent(report)}`;
  const env = { PATH: process.env['PATH'], HOME: home.path, TOOLHIVE_UI_PORT: '0' };
  const args = ['--import', preload, '--', join(root, 'apps/cli/bin/thv.js'), ...words];
  const running = promisify(execFile)(process.execPath, args, { env });
  running.child.stdout?.on('data', (chunk: Buffer) => {
    if (last !== undefined && chunk.includes(last)) running.child.kill();
  });
  const { stderr } = await running;
  return JSON.parse(stderr.slice(stderr.lastIndexOf('compiled ') + 9)) as [string, boolean][]; // from `report`
}

test('loads what a file requires when it is first used', () => {
  const code = [
    'var import_chunk_A=require("./chunks/a.js");',
    'var import_node_crypto=require("node:crypto");',
    'var import_chunk_B=require("./chunks/b.js");',
    'exports.id=()=>(0,import_node_crypto.randomUUID)();exports.make=()=>new import_chunk_A.Thing();',
  ].join('');
  const required: string[] = [];
  const modules: Record<string, object> = {
    './chunks/a.js': { Thing: Map },
    'node:crypto': { randomUUID: () => 'id' },
    './chunks/b.js': {},
  };
  const load = (path: string): object => {
    required.push(path);
    return modules[path] ?? {};
  };

  const exported = {} as { id: () => string; make: () => unknown };
  runInNewContext(loadedByNeed(code, new Set(['a.js', 'b.js'])), { require: load, exports: exported });

  expect(required).toEqual([]);
  expect([exported.id(), exported.id(), exported.make()]).toEqual(['id', 'id', new Map()]);
  expect(required).toEqual(['node:crypto', './chunks/a.js']);
});

test('leaves a requirement alone that has its own effect, or that is used as a whole', () => {
  const code =
    'var import_chunk_A=require("./a.js");var import_chunk_B=require("./b.js");use(import_chunk_B);';

  expect(loadedByNeed(code, new Set(['b.js']))).toBe(code);
});

test.each([
  'var text=\'var import_node_net=require("node:net");(0,import_node_net.connect)()\';',
  'var text=`var import_node_net=require("node:net");(0,import_node_net.connect)()`;',
  '/*! var import_node_net=require("node:net");import_node_net.connect() */var text="";',
])('leaves programs in texts as they are: %s', (text) => {
  const own = 'var import_node_net=require("node:net");exports.open=()=>import_node_net.connect();';

  expect(loadedByNeed(text, new Set())).toBe(text);
  expect(loadedByNeed(`${text}${own}`, new Set())).toBe(
    `var $required={get import_node_net(){return import_node_net_??=require("node:net")}};${text}` +
      'var import_node_net_;exports.open=()=>$required.import_node_net.connect();',
  );
});
