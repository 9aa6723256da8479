import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { daemonFailure } from './daemon-failure.ts';

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'thv-daemon-failure-'));
  path = join(directory, 'hive.log');
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const earlier = 'Error: of an earlier start\nHint: forget it\n';

test.each([
  ['an error with a hint', 'Error: the file is newer\nHint: move it\n', ': the file is newer', 'move it'],
  ['an error behind many lines', `${'{}\n'.repeat(50_000)}Error: the file is newer\n`, ': the file is newer'],
  ['no error', '{"msg":"daemon runs"}\n', ': its process ended with the exit code 134'],
  ['nothing', '', ': its process ended with the exit code 134'],
])('%s in the log is the reason', async (_content, text, reason, hint = `see its log: ${path}`) => {
  await writeFile(path, earlier + text);

  expect(daemonFailure(path, earlier.length, { code: 134, signal: null })).toMatchObject({
    kind: 'unavailable',
    message: `the daemon could not be started${reason}`,
    hint,
  });
});

test.each([
  [{ code: null, signal: 'SIGKILL' }, 'its process was ended by SIGKILL'],
  [{ code: null, signal: null, reason: 'spawn node EAGAIN' }, 'spawn node EAGAIN'],
])('without an error in the log, the end of the process is the reason: %j', async (end, reason) => {
  await writeFile(path, '');

  expect(daemonFailure(path, 0, end).message).toBe(`the daemon could not be started: ${reason}`);
});
