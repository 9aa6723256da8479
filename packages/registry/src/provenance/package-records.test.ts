import { DatabaseSync } from 'node:sqlite';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Artifact } from '@toolhive/runtime/runtime';
import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import { PackageRecords } from './package-records.ts';

let path: string;
let records: PackageRecords;

beforeEach(async () => {
  const folder = await mkdtempDisposable(join(tmpdir(), 'thv-records-'));
  path = join(folder.path, 'packages.db');
  records = await PackageRecords.open(path, pino({ level: 'silent' }));
  return async () => {
    records[Symbol.dispose]();
    await folder.remove();
  };
});

const hash = (digit: string) => `sha256:${digit.repeat(64)}`;

/** A wheel of one version of one project. */
const wheel = (tags: string, digit: string): Artifact => ({
  name: 'compiled',
  version: '2.0.0',
  file: `compiled-2.0.0-${tags}.whl`,
  integrity: hash(digit),
});

const forPython311 = wheel('cp311-cp311-manylinux_2_17_x86_64', '1');
const forPython313 = wheel('cp313-cp313-manylinux_2_17_x86_64', '3');
const published = [forPython311, forPython313];

describe('a version with several wheels', () => {
  test.each([
    ['another Python version', forPython313],
    ['another processor', wheel('cp311-cp311-manylinux_2_17_aarch64', 'a')],
    ['the stable ABI, published later', wheel('cp310-abi3-manylinux_2_28_x86_64', 'b')],
    ['musl instead of glibc', wheel('cp311-cp311-musllinux_1_2_x86_64', 'c')],
  ])('is the same version when the wheel is for %s', (_title, other) => {
    records.pin('uvx', [forPython311], [forPython311, other]);

    expect(records.changed('uvx', [other], [forPython311, other])).toBeUndefined();
  });

  test('has changed when the content of the installed wheel is another', () => {
    records.pin('uvx', [forPython311], published);

    const replaced = { ...forPython311, integrity: hash('e') };
    const changed = records.changed('uvx', [replaced], [replaced, forPython313]);

    expect(changed).toEqual({ artifact: replaced, before: forPython311.integrity });
  });

  test('has changed when a wheel is replaced that was published but not installed at first', () => {
    records.pin('uvx', [forPython311], published);

    const replaced = { ...forPython313, integrity: hash('e') };
    const changed = records.changed('uvx', [replaced], [forPython311, replaced]);

    expect(changed).toEqual({ artifact: replaced, before: forPython313.integrity });
  });

  test('does not take a wheel from another version of the project for a change', () => {
    records.pin('uvx', [forPython311], published);

    const next = { ...forPython311, version: '2.0.1', integrity: hash('f') };

    expect(records.changed('uvx', [next], [next])).toBeUndefined();
  });
});

describe('a version that an earlier ToolHive recorded with one hash', () => {
  beforeEach(() => {
    using database = new DatabaseSync(path);
    database
      .prepare('INSERT INTO artifacts VALUES (?, ?, ?, ?)')
      .run('uvx', forPython311.name, forPython311.version, forPython311.integrity);
  });

  test('is the same when the index still publishes the wheel with that hash', () => {
    expect(records.changed('uvx', [forPython313], published)).toBeUndefined();
  });

  test('has changed when the index publishes nothing with that hash any more', () => {
    const replaced = { ...forPython311, integrity: hash('e') };

    const changed = records.changed('uvx', [forPython313], [replaced, forPython313]);

    expect(changed).toEqual({ artifact: forPython313, before: forPython311.integrity });
  });

  test('is still compared after another wheel of the version was recorded', () => {
    records.pin('uvx', [forPython313], published);

    const replaced = { ...forPython311, integrity: hash('e') };

    expect(records.changed('uvx', [replaced], [replaced, forPython313])).toBeDefined();
    expect(records.changed('uvx', [forPython311], published)).toBeUndefined();
  });
});

test('a version of an ecosystem with one archive has changed when its hash is another', () => {
  const archive = { name: 'plain', version: '1.0.0', integrity: 'sha512-AAAA' };
  records.pin('npx', [archive]);

  const changed = records.changed('npx', [{ ...archive, integrity: 'sha512-BBBB' }]);

  expect(changed?.before).toBe('sha512-AAAA');
});

test('a full disk is named as the reason', () => {
  using database = new DatabaseSync(path);
  // As SQLite does itself on a full disk, the trigger also ends the transaction.
  database.exec(
    "CREATE TRIGGER full BEFORE INSERT ON artifacts BEGIN SELECT RAISE(ROLLBACK, 'disk is full'); END",
  );

  expect(() => records.pin('uvx', [forPython311])).toThrow('disk is full');
});
