// @suite system
import { chmod, mkdir, mkdtempDisposable, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pinSource } from '@toolhive/runtime/mount-source';
import type { PinnedMount } from '@toolhive/runtime/mount-source';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { isInstalled } from '@toolhive/testing/machine';
import { MountUse } from './mount-use.ts';
import { newWorkloadId } from '@toolhive/state/workload-id';

const fs = newWorkloadId();

const log = pino({ level: 'silent' });
const since = '2026-01-31T09:30:00.000Z';

describe.runIf(isInstalled('inotifywait'))('the use of mounts (with inotify-tools)', () => {
  async function openPlace() {
    const folder = await mkdtempDisposable(join(tmpdir(), 'thv-use-'));
    const source = join(folder.path, 'data');
    await mkdir(source);
    await writeFile(join(source, 'file'), 'text');
    const directory = join(folder.path, 'records');
    const mount = async (changes: Partial<PinnedMount> = {}): Promise<PinnedMount> => ({
      source,
      target: '/data',
      readOnly: false,
      pin: await pinSource(source),
      ...changes,
    });
    const openRecord = () => new MountUse({ directory, env: process.env, log });
    return Object.assign(folder, { source, directory, mount, openRecord });
  }

  /** Reads the file until that is recorded. */
  async function useFile(record: MountUse, source: string): Promise<void> {
    for (;;) {
      await readFile(join(source, 'file'));
      if ((await record.of(fs, since))[source]?.files.includes('file')) return;
    }
  }

  test('is known after the daemon has ended and started', async () => {
    await using place = await openPlace();
    const first = place.openRecord();
    await first.begin(fs, since, [await place.mount()]);
    await useFile(first, place.source);
    await first[Symbol.asyncDispose]();
    await using second = place.openRecord();

    expect(await second.of(fs, since)).toEqual({
      [place.source]: { read: true, written: false, files: ['file'] },
    });
    expect(await second.of(fs, '2026-02-01T00:00:00.000Z')).toEqual({});
  });

  test('is unknown after a daemon that was killed, which may have missed accesses', async () => {
    await using place = await openPlace();
    await using killed = place.openRecord();
    await killed.begin(fs, since, [await place.mount()]);
    await using next = place.openRecord();

    const { [place.source]: use } = await next.of(fs, since);

    expect(use?.gap).toBe('the daemon ended unexpectedly, so accesses may be missing');
  });

  test('is unknown if a record cannot be saved', async () => {
    await using place = await openPlace();
    await writeFile(place.directory, 'not a directory');
    await using record = place.openRecord();

    await record.begin(fs, since, [await place.mount()]);

    expect((await record.of(fs, since))[place.source]?.gap).toMatch(/^cannot write /);
  });

  test('is observed until a source that is mounted twice was written, if one mount is writable', async () => {
    await using place = await openPlace();
    await using record = place.openRecord();
    await record.begin(fs, since, [
      await place.mount({ target: '/read-only', readOnly: true }),
      await place.mount({ target: '/writable' }),
    ]);
    for (let index = 0; index < 25; index += 1) await writeFile(join(place.source, `new-${index}`), '');
    await chmod(place.source, 0o700);

    for (;;) {
      const { [place.source]: use } = await record.of(fs, since);
      if (use?.written === true) break;
      await writeFile(join(place.source, 'more'), '');
    }
    expect((await record.of(fs, since))[place.source]?.files.length).toBeLessThanOrEqual(20);
  });

  test('of an earlier learning mode is forgotten, and a removed record does not come back', async () => {
    await using place = await openPlace();
    await using record = place.openRecord();
    await record.begin(fs, since, [await place.mount()]);
    await useFile(record, place.source);
    const later = '2026-02-01T00:00:00.000Z';

    await record.begin(fs, later, [await place.mount()]);
    expect((await record.of(fs, later))[place.source]).toEqual({ read: false, written: false, files: [] });
    await readFile(join(place.source, 'file'));
    await record.forget(fs);

    expect(await record.ids()).toEqual([]);
    expect(await record.of(fs, later)).toEqual({});
    await rm(place.directory, { recursive: true });
  });
});
