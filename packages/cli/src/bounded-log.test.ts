import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { boundedLog } from './bounded-log.ts';

test('the log of a daemon in the background keeps its last lines in two files of bounded size', async () => {
  await using opened = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'thv-log-'));
  opened.defer(() => rm(directory, { recursive: true }));
  const path = join(directory, 'hive.log');
  const descriptor = openSync(path, 'a', 0o600);
  opened.defer(() => closeSync(descriptor));
  const log = boundedLog({ path, descriptor, limitBytes: 1000 });

  for (let n = 0; n < 1000; n++) log.write(`line ${n}\n`);

  const sizes = await Promise.all([path, `${path}.1`].map(async (file) => (await stat(file)).size));
  const text = (await readFile(`${path}.1`, 'utf8')) + (await readFile(path, 'utf8'));
  expect(Math.max(...sizes)).toBeLessThan(1100);
  expect(text.trimEnd().split('\n').slice(-100)).toEqual(
    Array.from({ length: 100 }, (_none, n) => `line ${n + 900}`),
  );
});
