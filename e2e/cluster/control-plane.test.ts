import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFile,
  mkdir,
  mkdtempDisposable,
  readFile,
  readdir,
  realpath,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { types } from '@toolhive/kubernetes/object';
import { startControlPlane } from '@toolhive/operator/testing/control-plane';
import { expect, test, vi } from 'vitest';
import { grantPermissions } from './operator-account.ts';
import { objectsOf, server } from './operator-tests.ts';
import { typeNamed } from './object-kinds.ts';
import { describeCluster } from './registered.ts';

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

describeCluster('a control plane', () => {
  test('has the objects of a new one when the next file gets it', async () => {
    const first = await startControlPlane();
    const { apply, field } = objectsOf(() => first);
    const namespace = await first.namespace();
    await grantPermissions(first);
    const pinned = { name: 'pinned', finalizers: ['example.com/never'] };
    await apply(
      namespace,
      server('left'),
      JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: pinned }),
    );
    await first.client.delete(types.configMap, { name: 'pinned', namespace });
    await first.client.patch(
      typeNamed('clusterrole')!,
      { name: 'view' },
      { metadata: { labels: { a: 'b' } } },
    );
    await first.client.delete(typeNamed('clusterrole')!, { name: 'edit' });
    expect(await field(namespace, 'configmap/pinned', '{.metadata.finalizers}')).not.toBe('');
    await first[Symbol.asyncDispose]();

    await using second = await startControlPlane();

    const { client, state } = second;
    expect(state).toBe(first.state);
    expect((await client.list(types.namespace)).items.map(({ metadata }) => metadata.name)).toEqual([
      'default',
      'kube-node-lease',
      'kube-public',
      'kube-system',
    ]);
    for (const kind of ['mcpservers', 'pods', 'secrets'])
      expect((await client.list(typeNamed(kind)!)).items).toEqual([]);
    const roles = (await client.list(typeNamed('clusterroles')!)).items.map(({ metadata }) => metadata);
    expect(roles.map(({ name }) => name)).toContain('edit');
    expect(roles.map(({ name }) => name)).not.toContain('toolhive-operator');
    expect(roles.find(({ name }) => name === 'view')?.labels).not.toHaveProperty('a');
    // Controllers may still write.
    expect((await second.writes()).filter(({ user }) => user === 'admin')).toEqual([]);
    expect(await second.namespace()).not.toBe(namespace);
  });

  test('starts an API server again that has crashed', async () => {
    await using cluster = await startControlPlane();
    const namespace = await cluster.namespace();
    const pidFile = join(cluster.state, 'kube-apiserver.pid');
    const crashed = await readFile(pidFile, 'utf8');

    process.kill(Number(crashed), 'SIGKILL');

    await vi.waitFor(async () => expect(await readFile(pidFile, 'utf8')).not.toBe(crashed), 30_000);
    await vi.waitFor(() => cluster.client.get(types.namespace, { name: namespace }), 30_000);
  });

  test('ends with the process that holds it, also during its start', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-hold-'));
    const state = join(folder.path, 'state');
    const holder = spawn(script, ['hold'], {
      env: { ...process.env, CONTROL_PLANE_STATE: state },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const ended = once(holder, 'exit');
    const pid = await vi.waitFor(async () => Number(await readFile(join(state, 'etcd.pid'), 'utf8')), {
      timeout: 30_000,
    });

    // As when the process at the other end is killed.
    holder.stdin.destroy();
    holder.stdout.destroy();

    await ended;
    await expect(stat(state)).rejects.toThrow('ENOENT');
    await expect(stat(`/proc/${pid}`)).rejects.toThrow('ENOENT');
  });
});
