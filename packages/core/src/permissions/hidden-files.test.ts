import { execFileSync } from 'node:child_process';
import { link, mkdir, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pinMounts } from '@toolhive/runtime/mount-source';
import { makeBlanks } from '@toolhive/runtime/hidden-path';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { makeHome } from '../testing/test-core.ts';
import { hideFiles } from './hidden-files.ts';
import { HiddenMemory } from './hidden-memory.ts';
import { newWorkloadId } from '@toolhive/state/workload-id';

const workload = newWorkloadId();

async function makeFolder() {
  const home = await makeHome();
  const folder = join(await realpath(home.path), 'data');
  const ignoreFile = join(home.path, 'thvignore');
  const memoryOptions = { directory: join(home.path, 'hidden'), log: pino({ enabled: false }) };
  const memory = new HiddenMemory(memoryOptions);
  await mkdir(folder);
  return {
    home,
    folder,
    ignoreFile,
    async hide(given: { memory?: HiddenMemory; volumes?: [string, string][] } = {}) {
      const volumes = given.volumes ?? [[folder, '/data']];
      const mounts = volumes.map(([source, target]) => ({ source, target, readOnly: false }));
      return hideFiles(await pinMounts(mounts), {
        ignoreFile,
        blanks: await makeBlanks(join(home.path, 'blanks')),
        workload,
        memory: given.memory ?? memory,
        others: [],
      });
    },
    anotherMemory: () => new HiddenMemory(memoryOptions),
    async [Symbol.asyncDispose]() {
      await memory[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

const targetsOf = ({ hidden }: Awaited<ReturnType<typeof hideFiles>>) =>
  hidden.map(({ target }) => target).toSorted();

test.each([
  ['*.log\n!keep.log', ['a.log', 'keep.log', 'deep/b.log'], ['a.log', 'deep/b.log']],
  ['/a', ['a', 'deep/a'], ['a']],
  ['deep/', ['deep/a', 'other/deep/b'], ['deep', 'other/deep']],
  ['a/**/z', ['a/z', 'a/b/c/z', 'z'], ['a/b/c/z', 'a/z']],
  ['*\n!*/\n!*.md', ['a.txt', 'b.md', 'deep/c.md', 'deep/d'], ['a.txt', 'deep/d']],
  ['# all\n\n\\#file\nfile[0-9]?', ['#file', 'file1x', 'filex'], ['#file', 'file1x']],
  ['CAFE\u0301', ['caf\u00e9', 'cafe'], ['caf\u00e9']],
])('the patterns %j hide what gitignore means', async (patterns, files, hidden) => {
  await using there = await makeFolder();
  await writeFile(there.ignoreFile, patterns);
  for (const file of files) {
    await mkdir(join(there.folder, file, '..'), { recursive: true });
    await writeFile(join(there.folder, file), 'x');
  }

  expect(targetsOf(await there.hide())).toEqual(hidden.map((path) => `/data/${path}`));
});

test('a directory with more hidden files than can be covered is empty', async () => {
  await using there = await makeFolder();
  await writeFile(there.ignoreFile, 'f*');
  await Promise.all(
    Array.from({ length: 1_001 }, (_, index) => writeFile(join(there.folder, `f${index}`), '')),
  );

  const { mounts, hidden, warnings } = await there.hide();

  expect(mounts).toMatchObject([
    { target: '/data', readOnly: true, source: join(there.home.path, 'blanks/directory') },
  ]);
  expect(hidden).toEqual([]);
  expect(warnings).toEqual([expect.stringContaining('more than 1000 files are to be hidden')]);
});

test('a directory with a hidden file whose name is no text is empty', async () => {
  await using there = await makeFolder();
  await writeFile(there.ignoreFile, '*.key');
  await writeFile(
    Buffer.concat([Buffer.from(`${there.folder}/`), Buffer.from([0xff]), Buffer.from('.key')]),
    'x',
  );

  const { warnings } = await there.hide();

  expect(warnings).toEqual([expect.stringContaining('a file to hide has a name that is not UTF-8')]);
});

test('a mount inside a hidden directory is left out', async () => {
  await using there = await makeFolder();
  await writeFile(there.ignoreFile, 'private/');
  await mkdir(join(there.folder, 'private/inner'), { recursive: true });

  const visible = await there.hide({
    volumes: [
      [there.folder, '/data'],
      [there.home.path, '/data/private/inner'],
    ],
  });

  expect(visible.mounts.map(({ target }) => target)).toEqual(['/data']);
  expect(visible.warnings).toEqual([
    `the server cannot see ${there.home.path}, because /data/private is hidden`,
  ]);
});

test('what a mount covers is not hidden a second time', async () => {
  await using there = await makeFolder();
  await writeFile(there.ignoreFile, '.env');
  await mkdir(join(there.folder, 'inner'));
  await mkdir(join(there.home.path, 'other'));
  await writeFile(join(there.folder, 'inner/.env'), 'x');

  const other: [string, string] = [join(there.home.path, 'other'), '/data/inner'];
  const visible = await there.hide({ volumes: [[there.folder, '/data'], other] });

  expect(visible.hidden).toEqual([]);
});

test('a file that was moved stays hidden after a restart of the daemon, until it is deleted', async () => {
  await using there = await makeFolder();
  await writeFile(there.ignoreFile, '/a/secret');
  await mkdir(join(there.folder, 'a'));
  await writeFile(join(there.folder, 'a/secret'), 'x');
  await there.hide();
  await rename(join(there.folder, 'a'), join(there.folder, 'b'));
  await using memory = there.anotherMemory();

  const moved = [targetsOf(await there.hide({ memory })), targetsOf(await there.hide({ memory }))];
  await rm(join(there.folder, 'b/secret'));
  const deleted = targetsOf(await there.hide({ memory }));

  expect(moved).toEqual([['/data/b/secret'], ['/data/b/secret']]);
  expect(deleted).toEqual([]);
});

describe('the old content of a file that an editor replaced', () => {
  /** Writes a new file and renames it over the old one, as editors do. */
  async function replace(path: string) {
    await writeFile(`${path}.new`, 'new');
    await rename(`${path}.new`, path);
  }

  test.for([
    ['a name that was there before', false],
    ['a name that was there before, after the daemon has started again', true],
  ] as const)('stays hidden under %s', async ([, isRestarted]) => {
    await using there = await makeFolder();
    await writeFile(there.ignoreFile, '.env');
    await writeFile(join(there.folder, '.env'), 'old');
    await link(join(there.folder, '.env'), join(there.folder, 'copy'));
    await using another = there.anotherMemory();
    const later = isRestarted ? { memory: another } : {};

    const before = targetsOf(await there.hide());
    await replace(join(there.folder, '.env'));
    const after = [targetsOf(await there.hide(later)), targetsOf(await there.hide(later))];

    expect(before).toEqual(['/data/.env', '/data/copy']);
    expect(after).toEqual([before, before]);
  });

  test('stays hidden under a name that it got while it was hidden', async () => {
    await using there = await makeFolder();
    await writeFile(there.ignoreFile, '.env');
    await writeFile(join(there.folder, '.env'), 'old');
    await there.hide();
    await link(join(there.folder, '.env'), join(there.folder, 'backup'));
    await replace(join(there.folder, '.env'));

    const after = targetsOf(await there.hide());

    expect(after).toEqual(['/data/.env', '/data/backup'].toSorted());
  });

  test('stays hidden in another mount', async () => {
    await using there = await makeFolder();
    await writeFile(there.ignoreFile, '.env');
    await mkdir(join(there.home.path, 'other'));
    await writeFile(join(there.folder, '.env'), 'old');
    await link(join(there.folder, '.env'), join(there.home.path, 'other/copy'));
    const volumes: [string, string][] = [
      [there.folder, '/data'],
      [join(there.home.path, 'other'), '/other'],
    ];
    await there.hide({ volumes });
    await replace(join(there.folder, '.env'));

    const after = targetsOf(await there.hide({ volumes }));

    expect(after).toEqual(['/data/.env', '/other/copy']);
  });

  test('outside the mounts does not make the directory empty', async () => {
    await using there = await makeFolder();
    await writeFile(there.ignoreFile, '.env');
    await writeFile(join(there.folder, '.env'), 'old');
    await link(join(there.folder, '.env'), join(there.home.path, 'outside'));
    await there.hide();
    await replace(join(there.folder, '.env'));

    const { hidden, warnings } = await there.hide();

    expect(hidden.map(({ target }) => target)).toEqual(['/data/.env']);
    expect(warnings).toEqual([]);
  });
});

test('a file that a removed link has hidden stays hidden', async () => {
  await using there = await makeFolder();
  await writeFile(there.ignoreFile, '*.pem');
  await writeFile(join(there.folder, 'settings'), 'x');
  await symlink('settings', join(there.folder, 'key.pem'));
  await there.hide();
  await rm(join(there.folder, 'key.pem'));

  const after = targetsOf(await there.hide());

  expect(after).toEqual(['/data/settings']);
});

test('a file in a hidden directory is also hidden under its other names', async () => {
  await using there = await makeFolder();
  await writeFile(there.ignoreFile, 'secrets/');
  await mkdir(join(there.folder, 'secrets/deep'), { recursive: true });
  await writeFile(join(there.folder, 'secrets/deep/token'), 'x');
  await link(join(there.folder, 'secrets/deep/token'), join(there.folder, 'copy'));
  await writeFile(join(there.folder, 'one'), 'x');
  await link(join(there.folder, 'one'), join(there.folder, 'two'));

  const hidden = targetsOf(await there.hide());

  expect(hidden).toEqual(['/data/copy', '/data/secrets']);
});

test('a file with several names is shown again under all of them when its pattern is removed', async () => {
  await using there = await makeFolder();
  await writeFile(there.ignoreFile, '.env');
  await writeFile(join(there.folder, '.env'), 'x');
  await link(join(there.folder, '.env'), join(there.folder, 'copy'));
  await there.hide();
  await writeFile(there.ignoreFile, '*.pem');

  const after = targetsOf(await there.hide());

  expect(after).toEqual([]);
});

test('a new file is not taken for a deleted one whose number it gets', async () => {
  await using there = await makeFolder();
  await writeFile(there.ignoreFile, '/secret');
  await writeFile(join(there.folder, 'secret'), 'x');
  await there.hide();
  await rm(join(there.folder, 'secret'));
  await using memory = there.anotherMemory();
  await Promise.all(
    Array.from({ length: 50 }, (_, index) => writeFile(join(there.folder, `new-${index}`), '')),
  );

  expect(targetsOf(await there.hide({ memory }))).toEqual([]);
});

test.for<[string, (path: string) => unknown]>([
  ['a pipe', (path) => execFileSync('mkfifo', [path])],
  ['a symbolic link', (path) => symlink('/etc/hostname', path)],
  ['too large', (path) => writeFile(path, `# ${'x'.repeat(256 * 1024)}`)],
  ['slow to apply', (path) => writeFile(path, `${'*a'.repeat(10)}b`)],
])('a directory whose ignore file is %s is empty', async ([, make]) => {
  await using there = await makeFolder();
  await make(join(there.folder, '.thvignore'));

  const { mounts, warnings } = await there.hide();

  expect(mounts).toMatchObject([
    { target: '/data', readOnly: true, source: join(there.home.path, 'blanks/directory') },
  ]);
  expect(warnings).toEqual([expect.stringContaining('.thvignore cannot be applied: ')]);
});

test('the ignore file of the user must be readable', async () => {
  await using there = await makeFolder();
  await mkdir(there.ignoreFile);

  await expect(there.hide()).rejects.toMatchObject({
    kind: 'conflict',
    message: `the ignore file ${there.ignoreFile} cannot be applied: not a regular file`,
    hint: 'fix the file, or exclude it with --ignore-globally=false',
  });
});
