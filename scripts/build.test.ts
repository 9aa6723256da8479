// @suite system
import { stat } from 'node:fs/promises';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { buildCli, loadedByNeed } from './build.ts';

test('builds nothing again when nothing has changed', async () => {
  const bundle = new URL('../apps/cli/dist/thv.js', import.meta.url);
  await buildCli();
  const before = await stat(bundle);

  await buildCli();

  const after = await stat(bundle);
  expect([after.ino, after.mtimeMs]).toEqual([before.ino, before.mtimeMs]);
});

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
