import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import {
  appendFile,
  chmod,
  chown,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { replaceFile } from './replace-file.ts';
import { TextFiles } from './text-files.ts';

const isRoot = process.getuid?.() === 0;
const options = { maxBytes: 1024 };
const longAgo = new Date('2026-01-01');

let directory: string;
let path: string;
let files: TextFiles;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'thv-files-'));
  path = join(directory, 'config.json');
  files = new TextFiles();
});
afterEach(async () => {
  vi.useRealTimers();
  await rm(directory, { recursive: true, force: true });
});

const append = (what: string) => async (text: string) => text + what;

describe('a file of another program', () => {
  test('is made for the eyes of its owner only', async () => {
    await files.edit(path, options, append('new'));

    expect(await readFile(path, 'utf8')).toBe('new');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(directory)).toEqual(['config.json']);
  });

  test('is not made when there is nothing to write', async () => {
    await files.edit(path, options, () => Promise.resolve(undefined));

    expect(await readdir(directory)).toEqual([]);
  });

  test('keeps its mode', async () => {
    await writeFile(path, 'old');
    await chmod(path, 0o640);

    await files.edit(path, options, append(' new'));

    expect(await readFile(path, 'utf8')).toBe('old new');
    expect((await stat(path)).mode & 0o777).toBe(0o640);
  });

  test.runIf(isRoot)('keeps its owner, and gives a new one to the owner of the folder', async () => {
    await writeFile(path, 'old');
    await chown(path, 1234, 2345);
    await chown(directory, 1111, 2222);

    await files.edit(path, options, append(' new'));
    await files.edit(join(directory, 'new.json'), options, append('new'));

    expect(await stat(path)).toMatchObject({ uid: 1234, gid: 2345 });
    expect(await stat(join(directory, 'new.json'))).toMatchObject({ uid: 1111, gid: 2222 });
  });

  test('stays a link, and is written where the link leads', async () => {
    await mkdir(join(directory, 'dotfiles'));
    await writeFile(join(directory, 'dotfiles/real.json'), 'old');
    await symlink('dotfiles/real.json', join(directory, 'middle.json'));
    await symlink('middle.json', path);

    await files.edit(path, options, append(' new'));

    expect(await readlink(path)).toBe('middle.json');
    expect(await readlink(join(directory, 'middle.json'))).toBe('dotfiles/real.json');
    expect(await readFile(join(directory, 'dotfiles/real.json'), 'utf8')).toBe('old new');
    expect(await readdir(join(directory, 'dotfiles'))).toEqual(['real.json']);
  });

  test('keeps its other names', async () => {
    await writeFile(path, 'old and long');
    await link(path, join(directory, 'dotfile.json'));

    await files.edit(path, options, append(' new'));
    expect(await readFile(join(directory, 'dotfile.json'), 'utf8')).toBe('old and long new');

    await files.edit(path, options, async () => 'short');
    expect(await readFile(join(directory, 'dotfile.json'), 'utf8')).toBe('short');
    expect(await readdir(directory)).toEqual(['config.json', 'dotfile.json']);
  });

  test('that is a link to nothing is refused', async () => {
    await symlink('nothing.json', path);

    const edit = files.edit(path, options, append('new'));

    await expect(edit).rejects.toThrow(/is a link to a missing file/);
    expect(await readdir(directory)).toEqual(['config.json']);
  });

  test('that is a link to itself is refused', async () => {
    await symlink('config.json', path);

    await expect(files.edit(path, options, append('new'))).rejects.toMatchObject({ kind: 'conflict' });
    expect((await lstat(path)).isSymbolicLink()).toBe(true);
  });

  test('that is a folder is refused', async () => {
    await mkdir(path);

    await expect(files.edit(path, options, append('new'))).rejects.toThrow(/is not a file/);
  });

  test('that leads to a device is refused', async () => {
    await symlink('/dev/zero', path);

    await expect(files.edit(path, options, append('new'))).rejects.toThrow(/is not a file/);
  });

  test('that is too large is refused', async () => {
    await writeFile(path, 'x'.repeat(1025));

    await expect(files.edit(path, options, append('new'))).rejects.toMatchObject({ kind: 'conflict' });
  });

  test('that is not UTF-8 is refused', async () => {
    const bytes = Buffer.from('{"a": "\xe9"}', 'latin1');
    await writeFile(path, bytes);

    await expect(files.edit(path, options, append('new'))).rejects.toThrow(/is not UTF-8 text/);
    expect(await readFile(path)).toEqual(bytes);
  });

  test('that is read-only is refused', async () => {
    await writeFile(path, 'old', { mode: 0o444 });

    await expect(files.edit(path, options, append('new'))).rejects.toThrow(/is read-only/);
    await expect(files.requireWritable(path, options)).rejects.toThrow(/is read-only/);
    expect(await readFile(path, 'utf8')).toBe('old');
    expect(await readdir(directory)).toEqual(['config.json']);
  });

  test('that is a link to a read-only file is refused, with the file', async () => {
    const target = join(await realpath(directory), 'generated.json');
    await writeFile(target, 'old', { mode: 0o444 });
    await symlink('generated.json', path);

    await expect(files.edit(path, options, append('new'))).rejects.toThrow(
      `${path}, a link to ${target}, is read-only`,
    );
  });

  test('in a folder that may not be written is refused', async () => {
    await writeFile(path, 'old');
    await chmod(path, 0o666);
    await chmod(directory, 0o555);

    await asAnybody(async () => {
      const edit = files.edit(path, options, append('new'));

      await expect(edit).rejects.toMatchObject({
        kind: 'conflict',
        message: expect.stringContaining('read-only'),
      });
      await expect(files.requireWritable(path, options)).rejects.toMatchObject({ kind: 'conflict' });
    });
    expect(await readFile(path, 'utf8')).toBe('old');
  });

  test.runIf(isRoot)('of another user is refused', async () => {
    await writeFile(path, 'old');
    await chmod(path, 0o666);
    await chmod(directory, 0o777);

    await asAnybody(async () => {
      await expect(files.edit(path, options, append('new'))).rejects.toThrow(/belongs to another user/);
    });
    expect(await readFile(path, 'utf8')).toBe('old');
    expect(await readdir(directory)).toEqual(['config.json']);
  });

  test('in a missing folder is not made', async () => {
    const edit = files.edit(join(directory, 'application', 'config.json'), options, append('new'));

    await expect(edit).rejects.toMatchObject({ kind: 'unavailable' });
    expect(await readdir(directory)).toEqual([]);
  });
});

describe('several writers', () => {
  test('in this process take turns', async () => {
    await symlink('config.json', join(directory, 'other.json'));
    await writeFile(path, '');
    await utimes(path, longAgo, longAgo);

    const letters = 'abcdefgh'.split('');
    await Promise.all(
      letters.map((letter, index) =>
        files.edit(index % 2 === 0 ? path : join(directory, 'other.json'), options, append(letter)),
      ),
    );

    expect((await readFile(path, 'utf8')).split('').toSorted()).toEqual(letters);
  });

  test.each([1, 2])('do not lose what one wrote while the other was thinking: %i names', async (names) => {
    await writeFile(path, 'old');
    if (names === 2) await link(path, join(directory, 'other.json'));
    let calls = 0;

    await files.edit(path, options, async (text) => {
      calls += 1;
      if (calls === 1) await appendFile(path, ' theirs');
      return `${text} ours`;
    });

    expect(await readFile(path, 'utf8')).toBe('old theirs ours');
  });

  test('do not lose a file that appeared meanwhile', async () => {
    let calls = 0;

    await files.edit(path, options, async (text) => {
      calls += 1;
      if (calls === 1) await writeFile(path, 'theirs');
      return `${text} ours`;
    });

    expect(await readFile(path, 'utf8')).toBe('theirs ours');
  });

  test('do not lead a file into the folder behind a link in the place of its own', async () => {
    const elsewhere = join(directory, 'home');
    await mkdir(elsewhere);
    await utimes(elsewhere, longAgo, longAgo); // changes with every entry, also with one that is removed again
    const target = join(directory, 'project', 'config.json');
    await symlink(elsewhere, join(directory, 'project'));

    const isReplaced = await replaceFile({ path: target, target, before: undefined }, 'new');

    expect(isReplaced).toBe(false);
    expect((await stat(elsewhere)).mtime).toEqual(longAgo);
  });

  test('that never stop are given up on', async () => {
    await writeFile(path, 'old');

    const edit = files.edit(path, options, async (text) => {
      await appendFile(path, '.');
      return `${text} ours`;
    });

    await expect(edit).rejects.toThrow(/constantly being written by another program/);
    expect(await readdir(directory)).toEqual(['config.json']);
  });

  test.each([
    ['empty', ''],
    ['half-written', '{'],
  ])('may leave a file %s for a moment', async (_state, left) => {
    vi.useFakeTimers({ toFake: ['Date'] }); // the file stays as new as it is now, however long the disk takes
    const whole = (text: string): string => {
      if (!text.endsWith('}')) throw new Error('not whole');
      return text;
    };
    const leave = async (): Promise<void> => {
      await writeFile(path, left);
      await utimes(path, new Date(), new Date());
      setTimeout(() => writeFileSync(path, '{}'), 100);
    };

    await leave();
    expect(await files.read(path, options, whole)).toBe('{}');
    await leave();
    await files.edit(path, options, async (text) => `${whole(text)} ours`);
    expect(await readFile(path, 'utf8')).toBe('{} ours');
  });
});

describe('the lock', () => {
  const edit = () => files.edit(path, options, append('new'));

  test('exists while the file is written, and is gone afterwards', async () => {
    let seen: string[] = [];

    await files.edit(path, options, async () => {
      seen = await readdir(directory);
      return 'new';
    });

    expect(seen).toEqual(['config.json.lock']);
    expect(await readdir(directory)).toEqual(['config.json']);
  });

  test('of another program is waited for', async () => {
    await writeFile(`${path}.lock`, `${process.ppid} 1\n`);
    setTimeout(() => void rm(`${path}.lock`), 300);

    await edit();

    expect(await readFile(path, 'utf8')).toBe('new');
  });

  test('that is a directory, as some clients have it, is waited for', async () => {
    await mkdir(`${path}.lock`);
    setTimeout(() => void rmdir(`${path}.lock`), 300);

    await edit();

    expect(await readFile(path, 'utf8')).toBe('new');
  });

  test('that is a directory and stays is respected, and taken over when it is old', async () => {
    await mkdir(`${path}.lock`);
    await expect(edit()).rejects.toThrow(/is locked by another program/);
    await utimes(`${path}.lock`, longAgo, longAgo);

    await edit();

    expect(await readdir(directory)).toEqual(['config.json']);
  });

  test('that is a directory is taken over when the clock was set back since', async () => {
    await mkdir(`${path}.lock`);
    const tomorrow = new Date(Date.now() + 24 * 3_600_000);
    await utimes(`${path}.lock`, tomorrow, tomorrow);

    await edit();

    expect(await readdir(directory)).toEqual(['config.json']);
  });

  test('is not taken over if it is a directory with files', async () => {
    await mkdir(`${path}.lock`);
    await writeFile(join(`${path}.lock`, 'mine.txt'), '');
    await utimes(`${path}.lock`, longAgo, longAgo);

    await expect(edit()).rejects.toThrow(/is locked by another program/);

    expect(await readdir(`${path}.lock`)).toEqual(['mine.txt']);
    expect(await readdir(directory)).toEqual(['config.json.lock']);
  });

  test.each([
    ['a living process', `${process.ppid} 1\n`],
    ['a program that does not say who it is', ''],
  ])('of %s is respected, but with a time limit', async (_what, text) => {
    await writeFile(`${path}.lock`, text);

    await expect(edit()).rejects.toMatchObject({ kind: 'conflict', hint: expect.stringContaining('.lock') });
    expect(await readdir(directory)).toEqual(['config.json.lock']);
  });

  test('that is a pipe is waited for no longer than another one', async () => {
    execFileSync('mkfifo', [`${path}.lock`]);

    await expect(files.edit(path, options, append('new'))).rejects.toThrow('locked by another program');
  });

  test('is removed from its folder even if a link is in the place of that now', async () => {
    const [folder, elsewhere] = [join(directory, 'project'), join(directory, 'home')];
    await mkdir(folder);
    await mkdir(elsewhere);

    await files.edit(join(folder, 'config.json'), options, async () => {
      await rename(folder, `${folder}-moved`);
      await symlink(elsewhere, folder);
      return undefined;
    });

    expect(await readdir(`${folder}-moved`)).toEqual([]);
    expect(await readdir(elsewhere)).toEqual([]);
  });

  test('of a dead process is taken over', async () => {
    const process = spawn('true');
    await once(process, 'exit');
    await writeFile(`${path}.lock`, `${process.pid} 1\n`);

    await edit();

    expect(await readdir(directory)).toEqual(['config.json']);
  });

  test('of an earlier process with our number is taken over', async () => {
    await writeFile(`${path}.lock`, `${process.pid} 1\n`);

    await edit();

    expect(await readdir(directory)).toEqual(['config.json']);
  });

  test('that is old is taken over', async () => {
    await writeFile(`${path}.lock`, '');
    await utimes(`${path}.lock`, longAgo, longAgo);

    await edit();

    expect(await readdir(directory)).toEqual(['config.json']);
  });
});

describe('a sweep', () => {
  const uuid = '00000000-0000-4000-8000-000000000000';

  test('removes leftovers of our killed program', async () => {
    const dead = spawn('true');
    await once(dead, 'exit');
    await writeFile(path, 'text');
    await writeFile(`${path}.lock`, `${dead.pid} 1\n`);
    await writeFile(`${path}.lock.${dead.pid}-1-${uuid}`, '');
    await writeFile(join(directory, '.config.json.toolhive-tmp'), 'te');

    await files.sweep(path);

    expect(await readdir(directory)).toEqual(['config.json']);
    expect(await readFile(path, 'utf8')).toBe('text');
  });

  test('leaves alone what is in use, and what is not ours', async () => {
    await writeFile(path, 'text');
    await writeFile(`${path}.lock`, '');
    await utimes(`${path}.lock`, longAgo, longAgo);
    await writeFile(`${path}.lock.${process.ppid}-1-${uuid}`, '');
    await writeFile(`${path}.lock.${uuid}`, '');
    await writeFile(join(directory, '.config.json.tmp'), '');
    const before = await readdir(directory);

    await files.sweep(path);

    expect(await readdir(directory)).toEqual(before);
  });

  test('leaves a file alone that another program is about to move into place', async () => {
    await writeFile(`${path}.lock`, `${process.ppid} 1\n`);
    await writeFile(join(directory, '.config.json.toolhive-tmp'), 'te');
    const before = await readdir(directory);

    await expect(files.sweep(path)).rejects.toMatchObject({ kind: 'conflict' });

    expect(await readdir(directory)).toEqual(before);
  });
});

/** Root may do everything, so the test runs as another user for a while. */
async function asAnybody(work: () => Promise<void>): Promise<void> {
  if (!isRoot) return work();
  process.seteuid?.(65534);
  try {
    await work();
  } finally {
    process.seteuid?.(0);
  }
}
