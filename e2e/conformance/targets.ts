import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@toolhive/contract/client';
import { openNpmRegistry } from '@toolhive/runtime/testing/npm-registry';
import { serveHttp } from 'toolhive-test-servers/conformance';
import { bundle } from '../../scripts/build.ts';
import { apiClient } from '../testing/api.ts';
import { makeUser, root, serve } from '../testing/thv.ts';
import type { Revision } from './suite.ts';

/** What a server speaks: sessions, as up to 2025-11-25, or requests that stand alone, as from 2026-07-28 on. */
export const eras = ['legacy', 'modern'] as const;
export type Era = (typeof eras)[number];

/** The era of the servers that a revision of the suite was written for. */
export const eraOf: Record<Revision, Era> = { '2025-11-25': 'legacy', '2026-07-28': 'modern' };

export const transports = ['stdio', 'http'] as const;

/** A server behind the proxy. */
export interface Target {
  era: Era;
  transport: (typeof transports)[number];
}

export const targets: readonly Target[] = eras.flatMap((era) =>
  transports.map((transport) => ({ era, transport })),
);

/** Endpoints to run the suite against. */
export interface Endpoints extends AsyncDisposable {
  direct(era: Era): string;
  /** Starts the server as a workload when it is asked for first. */
  proxied(target: Target): Promise<string>;
}

/** Serves both eras directly, and starts a daemon that can run them. */
export async function openEndpoints(): Promise<Endpoints> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'conformance-server-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const direct = await serveDirectly(opened);
  const image = await makePackage(folder);
  const client = await startDaemon(opened, folder);
  const workloads = new Map<string, Promise<string>>();
  const everything = opened.move();
  return {
    direct: (era) => direct[era],
    proxied(target) {
      const name = `${target.era}-${target.transport}`;
      const workload = workloads.get(name) ?? runAsWorkload(client, name, image, target);
      workloads.set(name, workload);
      return workload;
    },
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

async function serveDirectly(opened: AsyncDisposableStack): Promise<Record<Era, string>> {
  const anyPort = { host: '127.0.0.1', port: 0 };
  const [legacy, modern] = await Promise.all([serveHttp('legacy', anyPort), serveHttp('modern', anyPort)]);
  return { legacy: opened.use(legacy).url, modern: opened.use(modern).url };
}

/** Makes a package without dependencies of the servers, as a sandbox without a network can run it. */
async function makePackage(folder: string): Promise<string> {
  const name = 'toolhive-conformance';
  await bundle(
    { main: join(root, 'packages/test-servers/src/conformance/main.ts') },
    join(folder, 'package/dist'),
  );
  const files = ['dist/**/*.js'];
  const manifest = { name, version: '1.0.0', type: 'module', bin: 'dist/main.js', files };
  await writeFile(join(folder, 'package/package.json'), JSON.stringify(manifest));
  return `npx://${name}`;
}

async function startDaemon(opened: AsyncDisposableStack, folder: string): Promise<Client> {
  const registry = opened.use(await openNpmRegistry([join(folder, 'package')]));
  // A cache of its own: the package changes, and has the same version always.
  const env = { npm_config_registry: registry.url, npm_config_cache: join(folder, 'cache') };
  const user = opened.use(await makeUser({ env }));
  return apiClient(opened.use(await serve(user)));
}

async function runAsWorkload(client: Client, name: string, image: string, target: Target): Promise<string> {
  const mode =
    target.transport === 'http' ? { transport: 'streamable-http' } : { proxy_mode: 'streamable-http' };
  await client.createWorkload(
    { body: { name, image, cmd_arguments: [target.era, target.transport], ...mode } },
    { onProgress: () => {} },
  );
  return (await client.getWorkload({ params: { name } })).proxy_url;
}
