// @suite system
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { openRepository } from '../testing/git-repository.ts';
import { SourceReader } from './source-thread.ts';

const reader = new SourceReader(
  new URL('../../../../apps/operator/src/source-reader-main.ts', import.meta.url),
);
const never = new AbortController().signal;
const mebibyte = 1024 * 1024;

/** Reads a repository, and returns the problem and the most memory that the process had beyond its memory before. */
async function growthOf(files: Record<string, Buffer>): Promise<{ problem: string; bytes: number }> {
  await using repository = await openRepository(files);
  const before = process.memoryUsage().rss;
  const git = { repository: repository.url, path: 'registry.json' };
  const reading = reader.read('source', { source: { git }, filter: undefined, reach: true }, never);
  const problem = await reading.then(
    () => '',
    ({ message }: Error) => message,
  );
  return { problem, bytes: process.resourceUsage().maxRSS * 1024 - before };
}

// In this order, because a process remembers its largest size.
test('large repositories do not fill the memory of the operator', async () => {
  const random = (count: number, size: number): Record<string, Buffer> =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`file-${at}`, randomBytes(size)]));

  const allowed = await growthOf(random(20, mebibyte));
  const unpacked = await growthOf(
    Object.fromEntries(Array.from({ length: 5 }, (_, at) => [`file-${at}`, Buffer.alloc(15 * mebibyte, at)])),
  );
  const tooLarge = await growthOf(random(26, mebibyte));

  expect(allowed.problem).toBe('');
  expect(unpacked.problem).toBe('');
  expect(tooLarge.problem).toBe('cannot read the source: the repository is larger than 25165824 bytes');
  // With the 200 MB of an operator with 1,000 servers, two such threads need less than the memory limit of the pod.
  for (const { bytes } of [allowed, unpacked, tooLarge]) expect(bytes).toBeLessThan(280 * mebibyte);
});
