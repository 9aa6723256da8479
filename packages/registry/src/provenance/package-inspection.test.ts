// @suite system (in depth)
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openProcessRuntime } from '@toolhive/runtime/process';
import type { PackageContents } from '@toolhive/runtime/runtime';
import { openNpmRegistry } from '@toolhive/runtime/testing/npm-registry';
import type { NpmRegistry } from '@toolhive/runtime/testing/npm-registry';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Core } from '@toolhive/core/core';
import { openTestSigstore } from '../testing/sigstore.ts';
import type { TestSigstore } from '../testing/sigstore.ts';
import { makeHome, openTestCore } from '@toolhive/core/testing';
import type { TestHome } from '@toolhive/core/testing';
import { createWorkload } from '@toolhive/core/create';
import { getWorkload } from '@toolhive/core/describe';
import { stopWorkload } from '@toolhive/core/operate';
import { findUpdate, upgradeWorkload } from '@toolhive/core/update';
import { PackageInspection } from './package-inspection.ts';
import { PackageRecords } from './package-records.ts';

let sigstore: TestSigstore;
let home: TestHome;
let registry: NpmRegistry;
let core: Core;

beforeAll(async () => void (sigstore = await openTestSigstore()));
afterAll(() => sigstore?.[Symbol.asyncDispose]());

beforeEach(async () => {
  home = await makeHome();
  registry = await openNpmRegistry([
    await publish('1.0.0'),
    await publish('1.1.0', { dependencies: { needed: '^2.0.0' } }),
    await publish('2.0.0', { name: 'needed' }),
  ]);
  core = await open();
  return async () => {
    await core[Symbol.asyncDispose]();
    await registry[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  };
});

/** Opens a core that installs packages of the registry in real sandboxes. */
function open(): Promise<Core> {
  const env = { ...home.env, npm_config_registry: registry.url };
  return openTestCore(home, {
    env,
    readTrustedRoot: async () => sigstore.root,
    runtimes: (daemonId, paths) => [
      openProcessRuntime({
        daemonId,
        cacheDir: join(paths.cache, 'packages'),
        tempDir: paths.temp,
        bundlesDir: paths.bundles,
        homesDir: paths.homes,
        env,
      }),
    ],
  });
}

async function publish(version: string, changes: object = {}): Promise<string> {
  const folder = await mkdtemp(join(home.path, 'published-'));
  const manifest = { name: 'built', version, bin: 'main.js', ...changes };
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
  await writeFile(join(folder, 'main.js'), '#!/usr/bin/env node\nprocess.stdin.resume();\n');
  return folder;
}

/** Attests where a version was built. */
async function attest(version: string, repository = 'example/server'): Promise<void> {
  const [, base64 = ''] = registry.integrityOf('built', version).split('-', 2);
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [
      { name: `pkg:npm/built@${version}`, digest: { sha512: Buffer.from(base64, 'base64').toString('hex') } },
    ],
    predicateType: 'https://slsa.dev/provenance/v1',
  };
  const bundle = await sigstore.attest(statement, { repository });
  answer(version, { attestations: [{ predicateType: statement.predicateType, bundle }] });
}

function answer(version: string, body: unknown): void {
  registry.answers.set(`/-/npm/v1/attestations/built@${version}`, {
    status: 200,
    body: JSON.stringify(body),
  });
}

const call = { report: () => {}, signal: new AbortController().signal };
const create = (name: string, version = '1.0.0') =>
  createWorkload(core, { name, image: `npx://built@${version}` }, call);

describe('a package of npm', () => {
  test('with an attestation is installed, and the workload says where it was built', async () => {
    await attest('1.0.0');

    await create('one');

    const details = await getWorkload(core, 'one');
    expect(details).toMatchObject({
      integrity: registry.integrityOf('built', '1.0.0'),
      published_at: expect.stringMatching(/^\d{4}-/),
      provenance: { status: 'verified', repository: 'https://github.com/example/server' },
    });
    expect(details.warnings?.join()).not.toContain('built from');
  });

  test('without an attestation is installed, and the workload says so', async () => {
    await create('one');

    expect((await getWorkload(core, 'one')).provenance).toMatchObject({ status: 'absent' });
  });

  test('with a wrong attestation is not kept, and no workload remains', async () => {
    answer('1.0.0', { attestations: [{ predicateType: 'https://slsa.dev/provenance/v1', bundle: {} }] });

    const creating = create('one');

    await expect(creating).rejects.toMatchObject({
      kind: 'forbidden',
      message: expect.stringContaining('the provenance of package built 1.0.0 is wrong'),
    });
    expect(core.workloads.find('one')).toBeUndefined();
    const [runtime] = [await core.runtimes.choose(call.signal)];
    const source = { kind: 'package', scheme: 'npx', name: 'built', version: '1.0.0' } as const;
    expect(await runtime.contents?.(source)).toBeUndefined();
  });

  test('whose attestations cannot be looked up is installed, and looked up again later', async () => {
    registry.answers.set('/-/npm/v1/attestations/built@1.0.0', { status: 500, body: '' });
    await create('one');
    const before = (await getWorkload(core, 'one')).provenance;
    await attest('1.0.0');

    await create('two');

    expect(before).toMatchObject({ status: 'unknown', reason: expect.stringContaining('status 500') });
    expect((await getWorkload(core, 'two')).provenance).toMatchObject({ status: 'verified' });
  });

  test('whose version has changed since it was installed is not installed again', async () => {
    await create('one');
    // Its server would be installed again at the same time as the other one.
    await (await stopWorkload(core, 'one')).follow(call.report, call.signal);
    await registry.republish(await publish('1.0.0', { description: 'replaced' }));
    await rm(join(core.paths.cache, 'packages'), { recursive: true, maxRetries: 5 }); // an installation may still clean up

    const creating = create('two');

    await expect(creating).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('package built 1.0.0 has changed since its first installation'),
    });
  });

  test('is still pinned after the daemon has started again', async () => {
    await create('one');
    await core[Symbol.asyncDispose]();
    await registry.republish(await publish('1.0.0', { description: 'replaced' }));
    await rm(join(core.paths.cache, 'packages'), { recursive: true, maxRetries: 5 }); // an installation may still clean up
    core = await open();

    await expect(create('two')).rejects.toMatchObject({ kind: 'conflict' });
  });

  test('that loses its provenance with a new version is marked with a warning', async () => {
    await attest('1.0.0');
    await create('one');

    await upgradeWorkload(core, 'one', '1.1.0', call);

    expect((await getWorkload(core, 'one')).warnings).toContain(
      'WARNING: nothing proves where built 1.1.0 was built, but another version was built from https://github.com/example/server',
    );
  });

  test('that another repository has built is marked with a warning', async () => {
    await attest('1.0.0');
    await attest('1.1.0', 'evil/server');
    await create('one');

    await upgradeWorkload(core, 'one', '1.1.0', call);

    expect((await getWorkload(core, 'one')).warnings?.join()).toContain(
      'built 1.1.0 was built from https://github.com/evil/server, but another version was built from https://github.com/example/server',
    );
  });

  test('cannot pin another content of a package by calling one of its dependencies like it', async () => {
    const dependencies = { honest: 'npm:needed@2.0.0' };
    await registry.republish(await publish('1.0.0', { dependencies }));

    await create('one');

    const find = (name: string) =>
      core.packages.find({ kind: 'package', scheme: 'npx', name, version: '2.0.0' });
    expect(find('honest')).toBeUndefined();
    expect(find('needed')).toEqual({ integrity: registry.integrityOf('needed', '2.0.0') });
  });

  test('shows what an upgrade changes before anything of it is installed', async () => {
    await attest('1.0.0');
    await attest('1.1.0', 'evil/server');
    await create('one');
    const downloads = () => registry.requests.filter((request) => request.endsWith('1.1.0.tgz')).length;

    const { newest, changes } = await findUpdate(core, 'one', { ...call, withChanges: true });

    expect(newest).toBe('1.1.0');
    expect(changes).toEqual({
      dependencies: [{ name: 'needed', to: '2.0.0' }],
      provenance: {
        current: expect.objectContaining({ repository: 'https://github.com/example/server' }),
        newest: expect.objectContaining({ repository: 'https://github.com/evil/server' }),
      },
      warnings: [
        'WARNING: built 1.1.0 was built from https://github.com/evil/server, but another version was built from https://github.com/example/server',
      ],
    });
    expect(downloads()).toBe(0);
  });

  test('shows before an upgrade that the attestation of the new version is wrong', async () => {
    await create('one');
    answer('1.1.0', { attestations: [{ predicateType: 'https://slsa.dev/provenance/v1', bundle: {} }] });

    const { changes } = await findUpdate(core, 'one', { ...call, withChanges: true });

    expect(changes?.provenance.newest).toMatchObject({ status: 'failed' });
    expect(changes?.warnings.join()).toContain(
      'the provenance of this version is invalid, so it is not installed',
    );
  });

  test('that was not built from the repository of its registry entry is refused', async () => {
    await attest('1.0.0', 'example/server-evil');
    const file = join(home.path, 'registry.json');
    const entry = {
      image: 'npx://built@1.0.0',
      description: 'A server with a known repository.',
      transport: 'stdio',
      status: 'Active',
      tier: 'Community',
      tools: ['none'],
      repository_url: 'https://github.com/example/server',
    };
    const known = { version: '1.0.0', last_updated: '2026-01-01T00:00:00Z', servers: { built: entry } };
    await mkdir(home.path, { recursive: true });
    await writeFile(file, JSON.stringify(known));
    await core.registry.update({ local_path: file }, call.signal);

    const creating = createWorkload(core, { image: 'built' }, call);

    await expect(creating).rejects.toMatchObject({
      kind: 'forbidden',
      message:
        'package built 1.0.0 was built from https://github.com/example/server-evil, but its registry entry names https://github.com/example/server',
    });
  });
});

test('a Python project is pinned however its name is spelled', async () => {
  await using temporary = await makeHome();
  using packages = new PackageInspection({
    records: await PackageRecords.open(join(temporary.path, 'packages.db'), pino({ level: 'silent' })),
    readRoot: async () => sigstore.root,
    env: {},
    certificates: async () => undefined,
  });
  const source = { kind: 'package', scheme: 'uvx', name: 'My_Server', version: '1.0.0' } as const;
  const contents = (digit: string): PackageContents => ({
    registry: 'http://127.0.0.1:9/',
    artifacts: [{ name: 'my-server', version: '1.0.0', integrity: `sha256:${digit.repeat(64)}` }],
  });

  await packages.inspect(source, contents('0'), call);
  const changed = packages.inspect({ ...source, name: 'my-server' }, contents('1'), call);

  await expect(changed).rejects.toMatchObject({ kind: 'conflict' });
  expect(packages.find(source)).toMatchObject({
    integrity: contents('0').artifacts[0].integrity,
    provenance: { status: 'unknown' },
  });
});
