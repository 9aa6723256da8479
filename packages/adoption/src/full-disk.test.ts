// @suite system
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canMount, mountSmallDisk } from '@toolhive/core/testing/small-disk';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { clientTexts, give, take, textsIn } from './testing/take-and-give.ts';

if (!canMount) process.stderr.write('SKIPPED: tests of full disks need the superuser of a Linux system\n');

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'thv-full-'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

/** A small disk at a place in the home, which has the files of the clients. */
async function openOn(place: string) {
  const disk = await mountSmallDisk(join(home, place));
  await mkdir(home, { recursive: true });
  for (const [id, text] of Object.entries(clientTexts)) await writeFile(join(home, id), text);
  await writeFile(join(home, 'key'), Buffer.alloc(32).toString('base64url'));
  return disk;
}

describe.runIf(canMount).each([
  ['of the backups', 'adoptions'],
  ['of everything', ''],
])('on a full disk %s', (_title, place) => {
  test('an adoption is refused and leaves every file whole, and works as soon as there is room', async () => {
    await using disk = await openOn(place);
    await disk.fill();

    await expect(take(home)).rejects.toThrow(/no space|ENOSPC|full/i);
    const refused = await textsIn(home);
    await disk.free();
    await take(home);
    const adopted = await textsIn(home);
    const restored = await give(home);

    expect(refused).toEqual(clientTexts);
    for (const text of Object.values(adopted)) expect(text).toContain('http://localhost:9001/mcp');
    expect(restored).toEqual(['file', 'file', 'file']);
    expect(await textsIn(home)).toEqual(clientTexts);
  });

  test('an undo is refused or finished, and can be repeated', async () => {
    await using disk = await openOn(place);
    await take(home);
    const adopted = await textsIn(home);
    await disk.fill();

    await give(home).catch(() => {});
    const between = await textsIn(home);
    await disk.free();
    await give(home);

    for (const [id, text] of Object.entries(between))
      expect([clientTexts[id as 'cursor'], adopted[id]]).toContain(text);
    expect(await textsIn(home)).toEqual(clientTexts);
    expect(await readFile(join(home, 'adoptions/index.json'), 'utf8')).toContain('"changes": []');
  });
});
