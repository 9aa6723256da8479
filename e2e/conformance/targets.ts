import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openIdProvider } from '@toolhive/access/testing/openid-provider';
import type { Client } from '@toolhive/contract/client';
import { metaServerName } from '@toolhive/contract/names';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { openNpmRegistry } from '@toolhive/runtime/testing/npm-registry';
import { serveHttp } from 'toolhive-test-servers/conformance';
import { bundle } from '../../scripts/build.ts';
import { apiClient } from '@toolhive/api/testing/api-client';
import { makeUser, root, serve } from '../testing/thv.ts';
import type { Revision } from './suite.ts';

/** What a server speaks: sessions, as up to 2025-11-25, or requests that stand alone, as from 2026-07-28 on. */
export const generations = ['legacy', 'modern'] as const;
export type Generation = (typeof generations)[number];

/** The generation of the servers that a revision of the suite was written for. */
export const generationOf: Record<Revision, Generation> = { '2025-11-25': 'legacy', '2026-07-28': 'modern' };

export const transports = ['stdio', 'http'] as const;

/** A server behind the proxy. */
export interface Target {
  generation: Generation;
  transport: (typeof transports)[number];
}

export const targets: readonly Target[] = generations.flatMap((generation) =>
  transports.map((transport) => ({ generation, transport })),
);

/** Endpoints to run the suite against. */
export interface Endpoints extends AsyncDisposable {
  direct(generation: Generation): string;
  /** Starts the server as a workload when it is asked for first. */
  proxied(target: Target): Promise<string>;
  /** Starts a meta server. */
  meta(): Promise<string>;
  /** Starts the server in a group with a combined endpoint. */
  combined(generation: Generation): Promise<string>;
  /** Starts the server as a workload that requires tokens, and returns an endpoint that adds one to each request. */
  withTokens(generation: Generation): Promise<string>;
  /** The program that is a client of remote workloads, and its environment. */
  remoteClient: { program: string; env: NodeJS.ProcessEnv };
}

/** The document that the scenarios expect a client to name, if it does not register. */
const clientDocument = 'https://conformance-test.local/client-metadata.json';

/** Serves both generations directly, and starts a daemon that can run them. */
export async function openEndpoints(): Promise<Endpoints> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'conformance-server-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const direct = await serveDirectly(opened);
  const image = await makePackage(folder);
  const { client, base } = await startDaemon(opened, folder);
  const program = join(folder, 'client/remote-client.js');
  await bundle({ 'remote-client': join(root, 'e2e/conformance/remote-client.ts') }, join(folder, 'client'));
  const workloads = new Map<string, Promise<string>>();
  const everything = opened.move();
  return {
    direct: (generation) => direct[generation],
    proxied(target) {
      const name = `${target.generation}-${target.transport}`;
      const workload = workloads.get(name) ?? runAsWorkload(client, name, image, target);
      workloads.set(name, workload);
      return workload;
    },
    async meta() {
      await client.createWorkload({ body: { image: metaServerName } }, { onProgress: () => {} });
      const { proxy_url: url } = await client.getWorkload({ params: { name: metaServerName } });
      return url;
    },
    async combined(generation) {
      const group = `combined-${generation}`;
      await client.createGroup({ body: { name: group, endpoint: 'combined' } }, { onProgress: () => {} });
      await runAsWorkload(client, `one-${generation}`, image, { generation, transport: 'stdio' }, { group });
      const { proxy_url: url } = await client.getWorkload({ params: { name: `combined-${group}` } });
      return url;
    },
    withTokens: (generation) => serveWithTokens(everything, client, image, generation),
    remoteClient: { program, env: { THV_CONFORMANCE_API: base } },
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

async function serveDirectly(opened: AsyncDisposableStack): Promise<Record<Generation, string>> {
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
  return `npx://${name}@1.0.0`; // without a version, each workload starts npm to look for the newest one
}

async function startDaemon(
  opened: AsyncDisposableStack,
  folder: string,
): Promise<{ client: Client; base: string }> {
  const registry = opened.use(await openNpmRegistry([join(folder, 'package')]));
  // A cache of its own: the package changes, and has the same version always.
  const env = {
    npm_config_registry: registry.url,
    npm_config_cache: join(folder, 'cache'),
    TOOLHIVE_CLIENT_DOCUMENT: clientDocument,
  };
  const user = opened.use(await makeUser({ env }));
  const daemon = opened.use(await serve(user));
  const client = apiClient(daemon);
  await client.setupSecrets({ body: { provider_type: 'encrypted', password: 'a password' } });
  return { client, base: daemon.base };
}

/** The suite cannot send tokens itself. */
async function serveWithTokens(
  opened: AsyncDisposableStack,
  client: Client,
  image: string,
  generation: Generation,
): Promise<string> {
  const provider = opened.use(await openIdProvider());
  const { issuer } = provider;
  const oidc = { issuer, audience: 'conformance' };
  const target: Target = { generation, transport: 'stdio' };
  const url = await runAsWorkload(client, `tokens-${generation}`, image, target, { oidc });
  const token = await provider.sign({ iss: issuer, aud: oidc.audience, sub: 'suite' }, '1h');
  const server = createServer((request, response) => {
    const headers = { ...request.headers, authorization: `Bearer ${token}` };
    const forwarded = httpRequest(url, { method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    response.on('close', () => forwarded.destroy());
    request.pipe(forwarded);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  opened.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return `http://127.0.0.1:${port}/mcp`;
}

async function runAsWorkload(
  client: Client,
  name: string,
  image: string,
  target: Target,
  changes: CreateWorkload = {},
): Promise<string> {
  const mode =
    target.transport === 'http' ? { transport: 'streamable-http' } : { proxy_mode: 'streamable-http' };
  await client.createWorkload(
    { body: { name, image, cmd_arguments: [target.generation, target.transport], ...mode, ...changes } },
    { onProgress: () => {} },
  );
  return (await client.getWorkload({ params: { name } })).proxy_url;
}
