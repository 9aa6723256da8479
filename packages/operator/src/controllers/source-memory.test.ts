// @suite system (in depth)
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openRepository } from '../testing/git-repository.ts';
import { SourceReader } from './source-process.ts';

const reader = new SourceReader(
  new URL('../../../../apps/operator/src/source-reader-main.ts', import.meta.url),
);
const never = new AbortController().signal;
const mebibyte = 1024 * 1024;

/** Reads a repository, and returns the problem and the most memory that the process which reads it had. */
async function memoryFor(files: Record<string, Buffer>): Promise<{ problem: string; bytes: number }> {
  await using repository = await openRepository(files);
  const git = { repository: repository.url, path: 'registry.json' };
  const reading = reader.read('source', { source: { git }, filter: undefined, reach: true }, never);
  const problem = reading.then(
    () => '',
    ({ message }: Error) => message,
  );
  let bytes = 0;
  for (;;) {
    bytes = Math.max(bytes, ...(await Promise.all((await children()).map(highWaterMark))));
    const found = await Promise.race([problem, delay(5)]);
    if (found !== undefined) return { problem: found, bytes };
  }
}

async function children(): Promise<string[]> {
  const ids = await readFile(`/proc/self/task/${process.pid}/children`, 'utf8');
  return ids.split(' ').filter((id) => id !== '');
}

async function highWaterMark(pid: string): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => ''); // it has ended
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}

test('large repositories do not fill the memory of the operator', async () => {
  const random = (count: number, size: number): Record<string, Buffer> =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`file-${at}`, randomBytes(size)]));

  const allowed = await memoryFor(random(20, mebibyte));
  const unpacked = await memoryFor(
    Object.fromEntries(Array.from({ length: 5 }, (_, at) => [`file-${at}`, Buffer.alloc(15 * mebibyte, at)])),
  );
  const tooLarge = await memoryFor(random(26, mebibyte));

  expect(allowed.problem).toBe('');
  expect(unpacked.problem).toBe('');
  expect(tooLarge.problem).toBe('cannot read the source: the repository is larger than 25165824 bytes');
  // With the 200 MB of an operator with 1,000 servers, two such processes need less than the memory limit of the pod.
  for (const { bytes } of [allowed, unpacked, tooLarge]) expect(bytes).toBeLessThan(280 * mebibyte);
});
