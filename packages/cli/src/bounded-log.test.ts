import { closeSync, fstatSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { boundedLog } from './bounded-log.ts';

async function openBoundedLog(limitBytes: number) {
  await using opened = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'thv-log-'));
  opened.defer(() => rm(directory, { recursive: true }));
  const path = join(directory, 'hive.log');
  const descriptor = openSync(path, 'a', 0o600);
  opened.defer(() => closeSync(descriptor));
  const everything = opened.move();
  return {
    path,
    descriptor,
    log: boundedLog({ path, descriptor, limitBytes }),
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

test('the log of a daemon in the background keeps its last lines in two files of bounded size', async () => {
  await using opened = await openBoundedLog(1000);
  const { path, log } = opened;

  for (let n = 0; n < 1000; n++) log.write(`line ${n}\n`);

  const sizes = await Promise.all([path, `${path}.1`].map(async (file) => (await stat(file)).size));
  const text = (await readFile(`${path}.1`, 'utf8')) + (await readFile(path, 'utf8'));
  expect(Math.max(...sizes)).toBeLessThan(1100);
  expect(text.trimEnd().split('\n').slice(-100)).toEqual(
    Array.from({ length: 100 }, (_none, n) => `line ${n + 900}`),
  );
});

test('a log that was removed continues at its path, and its old file takes no space', async () => {
  await using opened = await openBoundedLog(100);
  const { path, log, descriptor } = opened;
  log.write(`${'x'.repeat(200)}\n`);

  await rm(path);
  log.write('first\n');

  expect(await readFile(path, 'utf8')).toBe('first\n');
  expect(fstatSync(descriptor).size).toBe(0);
});

test('a log that was moved away keeps its content there, and continues at its path', async () => {
  await using opened = await openBoundedLog(100);
  const { path, log } = opened;
  const text = `${'x'.repeat(200)}\n`;
  log.write(text);

  await rename(path, `${path}.kept`);
  log.write('first\n');

  expect([await readFile(`${path}.kept`, 'utf8'), await readFile(path, 'utf8')]).toEqual([text, 'first\n']);
});
