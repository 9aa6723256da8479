import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtempDisposable, readdir, realpath, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test, vi } from 'vitest';

const run = promisify(execFile);
const script = new URL('../../packages/operator/control-plane/control-plane.sh', import.meta.url).pathname;

/** Its first thread has ended, as that of a killed process with many threads can for a moment. The other one writes on. */
const writer = `
import ctypes, os, threading
def write():
  count = 0
  while True:
    count += 1
    os.makedirs('etcd', exist_ok=True)
    open('etcd/%d' % (count % 100), 'w').close()
threading.Thread(target=write).start()
ctypes.CDLL(None).pthread_exit(None)
`;

test('stopping the control plane waits until no thread of a process can write anymore', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-stop-'));
  const cache = join(folder.path, 'cache');
  const state = join(folder.path, 'state');
  await mkdir(join(cache, 'programs'), { recursive: true });
  await mkdir(state);
  const program = join(cache, 'programs/etcd');
  await copyFile(await realpath('/usr/bin/python3'), program);
  await writeFile(join(state, 'tokens.csv'), '');
  const etcd = spawn(program, ['-c', writer], { cwd: state, stdio: 'ignore' });
  await using _ended = { [Symbol.asyncDispose]: async () => void etcd.kill('SIGKILL') };
  const ended = once(etcd, 'exit');
  await writeFile(join(state, 'etcd.pid'), `${etcd.pid}\n`);
  await vi.waitFor(async () => {
    expect(await readdir(join(state, 'etcd'))).not.toEqual([]);
    await expect(realpath(`/proc/${etcd.pid}/exe`)).rejects.toThrow('ENOENT');
  });

  const env = { ...process.env, CONTROL_PLANE_CACHE: cache, CONTROL_PLANE_STATE: state };
  await run(script, ['stop'], { env });

  expect(await ended).toEqual([null, 'SIGKILL']);
  await expect(stat(state)).rejects.toThrow('ENOENT');
});
