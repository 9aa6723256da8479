// @suite faults
import { cp, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { diesAtStep } from '@toolhive/testing/killed-process';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { clientTexts, give, take, textsIn } from './testing/take-and-give.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'thv-crash-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** Copies a home. Its record has absolute paths. */
async function copy(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true });
  const index = join(to, 'adoptions/index.json');
  const text = await readFile(index, 'utf8').catch(() => {});
  if (text !== undefined) await writeFile(index, text.replaceAll(`${from}/`, `${to}/`));
}

const backupsIn = async (home: string): Promise<string[]> =>
  (await readdir(join(home, 'adoptions')).catch(() => [])).filter((name) => name !== 'index.json');

/** Adopts or gives back in a process of its own, which kills itself at the given step. False if there are fewer steps. */
async function dieDuring(act: 'take' | 'give', home: string, step: number): Promise<boolean> {
  const code = `
    const acts = await import(${JSON.stringify(new URL('testing/take-and-give.ts', import.meta.url).href)});
    await acts.${act}(${JSON.stringify(home)});
  `;
  return diesAtStep(step, code);
}

/** By default, one of five steps, beginning with a random one. */
const stride = process.env['ADOPTION_KILLS'] === 'all' ? 1 : 5;

test(
  'a daemon that is killed at any moment of an adoption leaves whole files, and both ways can be finished',
  { timeout: 600_000 },
  async () => {
    const start = join(directory, 'start');
    await mkdir(start);
    for (const [id, text] of Object.entries(clientTexts)) await writeFile(join(start, id), text);
    const end = join(directory, 'end');
    await copy(start, end);
    await take(end, { only: 'one' });
    const between = await textsIn(end);
    await take(end);
    const adopted = await textsIn(end);

    const dieAt = async (act: 'take' | 'give', step: number): Promise<boolean> => {
      const home = join(directory, `${act}-${step}`);
      await copy(act === 'take' ? start : end, home);
      const hasDied = await dieDuring(act, home, step);
      const other = `${home}-other`;
      await copy(home, other);

      for (const [id, text] of Object.entries(await textsIn(home)))
        expect([clientTexts, between, adopted].map((texts) => texts[id as 'cursor'])).toContain(text);
      await give(home);
      expect(await textsIn(home)).toEqual(clientTexts);
      expect(await backupsIn(home)).toEqual([]);
      await take(other);
      expect(await textsIn(other)).toEqual(adopted);
      expect(await give(other)).toEqual(['file', 'file', 'file']);
      expect(await textsIn(other)).toEqual(clientTexts);
      return hasDied;
    };
    let kills = 0;
    for (const act of ['take', 'give'] as const) {
      let step = Math.floor(Math.random() * stride);
      while ((await Promise.all([dieAt(act, step), dieAt(act, step + stride)])).every(Boolean)) {
        step += 2 * stride;
        kills += 2;
      }
    }

    expect(kills).toBeGreaterThan(100 / stride);
  },
);
