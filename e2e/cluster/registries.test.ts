import { writeFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startControlPlane } from '@toolhive/operator/testing/control-plane';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { openSourceFolder } from '@toolhive/operator/testing/git-repository';
import type { SourceFolder } from '@toolhive/operator/testing/git-repository';
import { canMakeNetworks, openStandInHosts } from '@toolhive/runtime/testing/stand-in-hosts';
import type { StandInHosts } from '@toolhive/runtime/testing/stand-in-hosts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { manifest, objectsOf } from './operator-tests.ts';
import { describeCluster } from './registered.ts';
import { startOperator } from './running-operator.ts';
import type { RunningOperator } from './running-operator.ts';

const port = 8000;
const helper = new URL('../../packages/operator/src/testing/git-repository.ts', import.meta.url).href;
/** Serves a folder at all addresses. */
const program = (folder: string): string =>
  `import(${JSON.stringify(helper)}).then(async ({ serveSources }) => {
     for (const host of process.argv.slice(1)) await serveSources(${JSON.stringify(folder)}, host, ${port});
     console.log('ready');
   });`;

const registryOf = (...names: string[]): string =>
  JSON.stringify({
    version: '1.0.0',
    servers: Object.fromEntries(
      names.map((name) => [
        name,
        { image: `example/${name}:1`, transport: 'stdio', description: 'A server' },
      ]),
    ),
  });

interface RegistryStatus {
  phase?: string;
  message?: string;
  syncStatus?: { phase?: string; serverCount?: number; lastAttempt?: string; attemptCount?: number };
  conditions?: { type: string; status: string; reason: string; message: string }[];
  lastManualSyncTrigger?: string;
}

// oxlint-disable-next-line vitest/no-conditional-tests -- a skipped test counts as a failure
if (!canMakeNetworks) {
  process.stderr.write('\n!!! SKIPPED: registry sources, because this user cannot create networks\n\n');
} else {
  describeCluster('registries with Git and API sources', () => {
    let cluster: ControlPlane;
    let operator: RunningOperator;
    let sources: SourceFolder;
    let hosts: StandInHosts;
    let host: string;
    beforeAll(async () => {
      sources = await openSourceFolder();
      hosts = await openStandInHosts(program(sources.path), 1);
      host = `${hosts.private[0]}:${port}`;
      cluster = await startControlPlane();
      operator = await startOperator(cluster);
    });
    afterAll(async () => {
      await operator?.[Symbol.asyncDispose]();
      await cluster?.[Symbol.asyncDispose]();
      await hosts?.[Symbol.asyncDispose]();
      await sources?.[Symbol.asyncDispose]();
    });

    const objects = objectsOf(() => cluster);
    const apply = (namespace: string, name: string, spec: object): Promise<void> =>
      objects.apply(namespace, manifest('MCPRegistry', name, spec));
    const statusOf = async (namespace: string, name: string): Promise<RegistryStatus> =>
      JSON.parse(
        (await objects.field(namespace, `mcpregistry/${name}`, '{.status}')) || '{}',
      ) as RegistryStatus;
    const reasonOf = async (namespace: string, name: string, type: string): Promise<string> => {
      const found = (await statusOf(namespace, name)).conditions?.find((each) => each.type === type);
      return `${found?.status} ${found?.reason}`;
    };
    /** The names of the servers in the stored registry. */
    const storedIn = async (namespace: string, name: string): Promise<string[]> => {
      const text = await objects.field(
        namespace,
        `configmap/${name}-registry-storage`,
        '{.data.registry\\.json}',
      );
      return Object.keys((JSON.parse(text || '{}') as { servers?: object }).servers ?? {});
    };
    const isReady = (namespace: string, name: string): Promise<void> =>
      objects.waitFor(namespace, `mcpregistry/${name}`);
    const gitSource = (version: object = {}) => ({
      type: 'git',
      git: { repository: `http://${host}/repo/.git`, ...version },
    });
    const trigger = (namespace: string, name: string, value: string): Promise<void> =>
      objects.annotate(namespace, `mcpregistry/${name}`, { 'toolhive.stacklok.dev/sync-trigger': value });

    test('a registry comes from a branch, a tag, and a commit', async () => {
      const namespace = await cluster.namespace();
      const first = await sources.commit({ 'registry.json': registryOf('first') });
      await sources.commit({ 'registry.json': registryOf('tagged') });
      sources.git('tag', 'v1');
      sources.git('checkout', '-q', '-b', 'next');
      await sources.commit({ 'registry.json': registryOf('branched'), 'other.json': registryOf('other') });
      sources.git('checkout', '-q', 'main');
      const versions = {
        'by-branch': { branch: 'next' },
        'by-path': { branch: 'next', path: 'other.json' },
        'by-tag': { tag: 'v1' },
        'by-commit': { commit: first },
        'by-default': {},
      };

      for (const [name, version] of Object.entries(versions))
        await apply(namespace, name, { source: gitSource(version) });
      await Promise.all(Object.keys(versions).map((name) => isReady(namespace, name)));

      const stored = await Promise.all(Object.keys(versions).map((name) => storedIn(namespace, name)));
      expect(stored).toEqual([['branched'], ['other'], ['tagged'], ['first'], ['tagged']]);
      expect(await reasonOf(namespace, 'by-tag', 'SyncSuccessful')).toBe('True SyncComplete');
    });

    test('a source is read again at the interval and on demand, and not otherwise', async () => {
      const namespace = await cluster.namespace();
      await sources.commit({ 'changing.json': registryOf('one') });
      const source = gitSource({ path: 'changing.json' });
      await apply(namespace, 'often', { source, syncPolicy: { interval: '2s' } });
      await apply(namespace, 'asked', { source, syncPolicy: { interval: '24h' } });
      await apply(namespace, 'once', { source });
      await Promise.all(['often', 'asked', 'once'].map((name) => isReady(namespace, name)));

      await sources.commit({ 'changing.json': registryOf('one', 'two') });
      await expect.poll(() => storedIn(namespace, 'often')).toEqual(['one', 'two']);
      expect(await storedIn(namespace, 'asked')).toEqual(['one']);
      expect(await storedIn(namespace, 'once')).toEqual(['one']);

      await trigger(namespace, 'asked', 'please');
      await trigger(namespace, 'once', 'please');
      for (const name of ['asked', 'once']) {
        await expect.poll(() => storedIn(namespace, name)).toEqual(['one', 'two']);
        await expect.poll(async () => (await statusOf(namespace, name)).lastManualSyncTrigger).toBe('please');
      }
    });

    test('an API source in the format of ToolHive is filtered', async () => {
      const namespace = await cluster.namespace();
      await writeFile(join(sources.path, 'api.json'), registryOf('wanted', 'unwanted'));

      await apply(namespace, 'api', {
        source: { type: 'api', api: { endpoint: `http://${host}/api.json` } },
        filter: { names: { exclude: ['un*'] } },
      });
      await isReady(namespace, 'api');

      expect(await storedIn(namespace, 'api')).toEqual(['wanted']);
      expect((await statusOf(namespace, 'api')).syncStatus?.serverCount).toBe(1);
    });

    test('a source that fails is Failed and not Syncing, and the old data is served until the source is back', async () => {
      const namespace = await cluster.namespace();
      const file = join(sources.path, 'failing.json');
      await writeFile(file, registryOf('kept'));
      await apply(namespace, 'failing', {
        source: { type: 'api', api: { endpoint: `http://${host}/failing.json` } },
        syncPolicy: { interval: '2s' },
      });
      await isReady(namespace, 'failing');

      await rm(file);
      await expect.poll(() => reasonOf(namespace, 'failing', 'SourceAvailable')).toBe('False FetchFailed');
      const gone = await statusOf(namespace, 'failing');
      await writeFile(file, '{ broken');
      await expect.poll(() => reasonOf(namespace, 'failing', 'SyncSuccessful')).toMatch(/^False/);

      expect([gone.phase, gone.syncStatus?.phase]).toEqual(['Failed', 'Failed']);
      expect(gone.syncStatus?.serverCount).toBe(1);
      expect(await storedIn(namespace, 'failing')).toEqual(['kept']);
      expect(await objects.field(namespace, 'deployment/failing-api', '{.status.readyReplicas}')).toBe('1');
      await writeFile(file, registryOf('back'));
      await expect.poll(() => storedIn(namespace, 'failing')).toEqual(['back']);
      await isReady(namespace, 'failing');
    });

    test('broken JSON in a Git repository is invalid data, and the old data is served', async () => {
      const namespace = await cluster.namespace();
      await sources.commit({ 'broken.json': registryOf('kept') });
      await apply(namespace, 'broken', { source: gitSource({ path: 'broken.json' }) });
      await isReady(namespace, 'broken');

      await sources.commit({ 'broken.json': '{ broken' });
      await trigger(namespace, 'broken', 'again');

      await expect.poll(() => reasonOf(namespace, 'broken', 'DataValid')).toBe('False ValidationFailed');
      expect((await statusOf(namespace, 'broken')).phase).toBe('Failed');
      expect(await storedIn(namespace, 'broken')).toEqual(['kept']);
    });

    test('a registry that does not fit in a ConfigMap is not stored, and a filter helps', async () => {
      const namespace = await cluster.namespace();
      const servers = Object.fromEntries(
        Array.from({ length: 1_500 }, (_, at) => [
          `server-${at}`,
          { image: 'example/server:1', transport: 'stdio', description: 'a'.repeat(800) },
        ]),
      );
      await sources.commit({ 'large.json': JSON.stringify({ version: '1.0.0', servers }) });
      const source = gitSource({ path: 'large.json' });
      await apply(namespace, 'large', { source });

      await expect.poll(() => reasonOf(namespace, 'large', 'SyncSuccessful')).toBe('False StorageFailed');
      const { phase, message } = await statusOf(namespace, 'large');
      expect(phase).toBe('Failed');
      expect(message).toMatch(
        /more than the 1048576 bytes of a ConfigMap. Select fewer servers with spec.filter/,
      );
      expect(await storedIn(namespace, 'large')).toEqual([]);

      await apply(namespace, 'large', { source, filter: { names: { include: ['server-1'] } } });
      await isReady(namespace, 'large');
      expect(await storedIn(namespace, 'large')).toEqual(['server-1']);
    });

    test('a source over the limit is refused, and the operator continues to work', async () => {
      const namespace = await cluster.namespace();
      await writeFile(join(sources.path, 'huge.json'), ' '.repeat(17 * 1024 * 1024));
      await apply(namespace, 'huge', {
        source: { type: 'api', api: { endpoint: `http://${host}/huge.json` } },
      });

      await expect.poll(() => reasonOf(namespace, 'huge', 'SourceAvailable')).toBe('False FetchFailed');
      expect((await statusOf(namespace, 'huge')).message).toContain('is larger than 16777216 bytes');
      await writeFile(join(sources.path, 'after.json'), registryOf('after'));
      await apply(namespace, 'after', {
        source: { type: 'api', api: { endpoint: `http://${host}/after.json` } },
      });
      await isReady(namespace, 'after');
    });

    test('a registry whose source is being read is Reconciling and not Ready', async () => {
      const namespace = await cluster.namespace();
      const seen: RegistryStatus[] = [];
      const over = new AbortController();
      const type = {
        apiVersion: 'toolhive.stacklok.dev/v1alpha1',
        kind: 'MCPRegistry',
        plural: 'mcpregistries',
      };
      const { resourceVersion } = await cluster.client.list(type, { namespace });
      const watching = (async () => {
        for await (const { object } of cluster.client.watch(type, {
          namespace,
          resourceVersion,
          signal: over.signal,
        }))
          seen.push((object as { status?: RegistryStatus }).status ?? {});
      })().catch(() => {}); // ended below

      await sources.commit({ 'watched.json': registryOf('one') });
      await apply(namespace, 'watched', { source: gitSource({ path: 'watched.json' }) });
      await isReady(namespace, 'watched');
      await expect.poll(() => seen.at(-1)?.phase).toBe('Ready');
      over.abort();
      await watching;

      const conditionsOf = ({ conditions = [] }: RegistryStatus): string[] =>
        conditions.filter(({ status }) => status === 'True').map(({ type: name }) => name);
      expect(seen.map(({ phase }) => phase)).toContain('Syncing');
      for (const status of seen.filter(({ phase }) => phase !== undefined)) {
        const isDone = status.phase === 'Ready';
        expect(conditionsOf(status).includes('Reconciling')).toBe(!isDone);
        expect(conditionsOf(status).includes('Ready')).toBe(isDone);
      }
    });
  });
}
