import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { expect, test, vi } from 'vitest';
import { parseCommand, serveRegistry } from './registry-api.ts';

const aRegistry = (...names: string[]): string =>
  JSON.stringify({
    version: '1.0.0',
    last_updated: '2026-01-02T03:04:05Z',
    servers: Object.fromEntries(names.map((name) => [name, { image: `npx://${name}@1.0.0` }])),
  });

/** A directory as Kubernetes mounts a ConfigMap: the files are links through `..data`, which each change replaces. */
async function openMount() {
  const folder = await mkdtemp(join(tmpdir(), 'thv-registry-'));
  let version = 0;
  const mount = async (text: string): Promise<void> => {
    version += 1;
    await mkdir(join(folder, `..${version}`));
    await writeFile(join(folder, `..${version}`, 'registry.json'), text);
    await symlink(`..${version}`, join(folder, '..next'));
    await rename(join(folder, '..next'), join(folder, '..data'));
  };
  await mkdir(folder, { recursive: true });
  await symlink('..data/registry.json', join(folder, 'registry.json'));
  return {
    path: join(folder, 'registry.json'),
    mount,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

test('follows the content of a mounted ConfigMap, and keeps the last valid content', async () => {
  await using mounted = await openMount();
  const log = pino({ level: 'silent' });
  await using server = await serveRegistry({
    path: mounted.path,
    name: 'team',
    host: '127.0.0.1',
    port: 0,
    version: '1.2.3',
    log,
  });
  const url = `http://127.0.0.1:${server.port}`;
  const names = async (): Promise<string[]> => {
    const response = await fetch(`${url}/v0.1/servers`);
    const { servers } = (await response.json()) as { servers: { server: { name: string } }[] };
    return servers.map((each) => each.server.name);
  };

  expect((await fetch(`${url}/health`)).status).toBe(200);
  expect((await fetch(`${url}/readiness`)).status).toBe(503);
  expect((await fetch(`${url}/v0.1/servers`)).status).toBe(503);

  await mounted.mount(aRegistry('one'));
  await vi.waitFor(async () => expect((await fetch(`${url}/readiness`)).status).toBe(200), 20_000);
  expect(await names()).toEqual(['dev.toolhive/one']);

  await mounted.mount('{ broken');
  await mounted.mount(aRegistry('one', 'two'));
  await vi.waitFor(
    async () => expect(await names()).toEqual(['dev.toolhive/one', 'dev.toolhive/two']),
    20_000,
  );
});

test.each([
  [[], 'unknown command (none)'],
  [['serve', '--registry-name=a'], '--from-file is required and must be an absolute path'],
  [['serve', '--from-file=/a'], '--registry-name is required'],
  [['serve', '--from-file=/a', '--registry-name=a', 'b'], 'unexpected argument b'],
  [['serve', '--from-file=/a', '--registry-name=a', '--address=x'], 'invalid --address x: use [HOST]:PORT'],
  [['serve', '--form-file=/a'], "Unknown option '--form-file'"],
])('refuses the arguments %j', (words, message) => {
  expect(() => parseCommand(words)).toThrow(message);
});

test('listens on all addresses by default', () => {
  expect(parseCommand(['serve', '--from-file=/data/registry.json', '--registry-name=a'])).toEqual({
    path: '/data/registry.json',
    name: 'a',
    host: '0.0.0.0',
    port: 8080,
  });
});
