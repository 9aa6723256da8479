import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { aLaunch } from '../testing/conformance.ts';
import { type NpmRegistry, openNpmRegistry } from '../testing/npm-registry.ts';
import { Conversation } from '../testing/talk.ts';
import type { Instance, Launch, Runtime } from '../runtime.ts';
import type { ServerSource } from '../source.ts';
import { GatewayNetwork } from '../egress/gateway-network.ts';
import { GatewayProcess } from '../egress/gateway-process.ts';
import { type Machine, inspectMachine } from './check.ts';
import { childrenOf } from '../proc.ts';
import { type ProcessRuntimeOptions, openProcessRuntime } from './process.ts';
import { PackageStore } from './store.ts';

const testServers = join(import.meta.dirname, '../../../test-servers');

/** A process runtime with separate directories and a registry that contains the test servers. */
export interface ProcessRig extends AsyncDisposable {
  runtime: Runtime;
  options: ProcessRuntimeOptions;
  registry: NpmRegistry;
  /** A folder that goes when the rig goes. */
  folder: string;
  /** The test servers, as a package that is not installed yet. */
  source: ServerSource;
  /** The packages that the runtime has installed. */
  store: () => PackageStore;
  /** Installs the test servers, once. */
  prepared: () => Promise<ServerSource>;
}

export async function openRig(changes: Partial<ProcessRuntimeOptions> = {}): Promise<ProcessRig> {
  const folder = await mkdtemp(join(tmpdir(), 'thv-process-'));
  const registry = await openNpmRegistry([testServers]);
  const options: ProcessRuntimeOptions = {
    daemonId: `test-${folder.slice(-6)}`,
    cacheDir: join(folder, 'cache'),
    tempDir: join(folder, 'tmp'),
    bundlesDir: join(folder, 'bundles'),
    homesDir: join(folder, 'homes'),
    env: { ...process.env, npm_config_registry: registry.url, npm_config_cache: join(folder, 'npm') },
    ...changes,
  };
  const runtime = openProcessRuntime(options);
  const source: ServerSource = { kind: 'package', scheme: 'npx', name: 'toolhive-test-servers' };
  let prepared: Promise<ServerSource> | undefined;
  return {
    runtime,
    options,
    registry,
    folder,
    source,
    store: () => new PackageStore(options, () => machineOf(options.env)),
    prepared: () => (prepared ??= runtime.prepare(source, prepareOptions)),
    async [Symbol.asyncDispose]() {
      await registry[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** What this machine offers for sandboxes. */
export async function machineOf(env: NodeJS.ProcessEnv): Promise<Machine> {
  const inspection = await inspectMachine(
    env,
    new GatewayNetwork(new GatewayProcess()),
    AbortSignal.timeout(30_000),
  );
  if ('problem' in inspection) throw new Error(inspection.problem);
  return inspection.machine;
}

export const never = new AbortController().signal;

export const prepareOptions = { report: () => {}, signal: never };

export type Talk = Conversation & AsyncDisposable & { instance: Instance };

/** Starts a test server and talks to it. */
export async function talkTo(rig: ProcessRig, changes: Partial<Launch> = {}): Promise<Talk> {
  const instance = await rig.runtime.start(aLaunch(await rig.prepared(), changes), never);
  if (instance.stdio === undefined) throw new Error('the instance speaks no stdio');
  return Object.assign(new Conversation(instance.stdio), {
    instance,
    [Symbol.asyncDispose]: () => instance[Symbol.asyncDispose](),
  });
}

/** The processes of this machine in whose command line the text stands. */
export async function processesWith(word: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry)).map(Number);
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  );
  return pids.filter((pid, index) => pid !== process.pid && lines[index]?.includes(word));
}

/** Everything that a server has written when it has ended. It is read only then, and nothing may be lost until then. */
export async function outputOf(instance: Instance): Promise<string> {
  await instance.exited;
  return instance.stdio === undefined ? '' : text(instance.stdio.output);
}

/** The processes that give servers of a daemon their networks. */
export function networksOf(daemon = process.pid): number[] {
  return childrenOf(daemon).filter((pid) =>
    readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('slirp4netns'),
  );
}
