// @suite e2e (in depth)
import { once } from 'node:events';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { selfSigned } from '@toolhive/runtime/testing/self-signed';
import { openNpmRegistry } from '@toolhive/runtime/testing/npm-registry';
import { expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { pathWithUv } from './testing/package-cache.ts';
import { makeUser, root, testServer } from './testing/thv.ts';

/**
 * A registry over TLS whose certificate is not trusted, as behind the proxy of a company; and that certificate. It
 * has the test servers for npm, and nothing for others.
 */
async function openPrivateRegistry() {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await mkdtempDisposable(join(tmpdir(), 'thv-private-')));
  const plain = opened.use(await openNpmRegistry([join(root, 'packages/test-servers')]));
  const { key, certificate } = selfSigned('localhost');
  const server = createServer({ key, cert: certificate }, (request, response) => {
    void (async () => {
      const answer = await fetch(new URL(request.url ?? '/', plain.url));
      const body = Buffer.from(await answer.arrayBuffer());
      const type = answer.headers.get('content-type') ?? '';
      response.writeHead(answer.status, { 'content-type': type });
      // What it says of itself, it says with its own address.
      response.end(type.includes('json') ? body.toString().replaceAll(plain.url, url) : body);
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const url = `https://localhost:${(server.address() as AddressInfo).port}/`;
  const certificatePath = join(folder.path, 'company.pem');
  await writeFile(certificatePath, certificate);
  const everything = opened.move();
  return {
    /** For npm, with a cache in which nothing is yet. */
    env: {
      npm_config_registry: url,
      npm_config_cache: join(folder.path, 'npm'),
      npm_config_fetch_retries: '0', // a certificate does not become better by waiting
      UV_DEFAULT_INDEX: `${url}simple`,
      UV_HTTP_RETRIES: '0',
      GOPROXY: url,
      GOSUMDB: 'off',
    },
    certificatePath,
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

const run = ['run', testServer, '--name', 'echo'];

test('a package comes from a registry whose certificate is trusted by the setting', async () => {
  proves('cli.ca-cert');
  await using registry = await openPrivateRegistry();
  await using user = await makeUser({ env: registry.env });

  const before = await user.thv(...run, '--', 'echo');
  await user.mustThv('config', 'set-ca-cert', registry.certificatePath);
  const after = await user.thv(...run, '--', 'echo');

  expect([before.code, before.stderr]).toEqual([
    5,
    expect.stringMatching(/self.signed certificate.*\nHint: .*thv config set-ca-cert FILE/i),
  ]);
  expect(after).toMatchObject({ code: 0, stdout: expect.stringMatching(/^echo runs at http/) as string });
});

test('a package comes from a registry whose certificate is trusted for this one run', async () => {
  await using registry = await openPrivateRegistry();
  await using user = await makeUser({ env: registry.env });

  const { code, stdout } = await user.thv(...run, '--ca-cert', registry.certificatePath, '--', 'echo');

  expect([code, stdout]).toEqual([0, expect.stringMatching(/^echo runs at http/)]);
});

test.each(['uvx://no-such-server', 'go://example.test/no/such/server'])(
  'whether there is %s is known once the certificate is trusted',
  async (source) => {
    await using registry = await openPrivateRegistry();
    await using user = await makeUser({ env: { ...registry.env, PATH: await pathWithUv() } });

    const before = await user.thv('run', source);
    const after = await user.thv('run', source, '--ca-cert', registry.certificatePath);

    expect([before.code, before.stderr]).toEqual([
      5,
      expect.stringMatching(/cannot reach.*\nHint: .*thv config set-ca-cert FILE/),
    ]);
    expect([after.code, after.stderr]).toEqual([4, expect.stringMatching(/package \S+ not found/)]);
  },
);

test('a certificate that cannot be used is named when something has to be fetched, and what to do', async () => {
  await using registry = await openPrivateRegistry();
  await using user = await makeUser({ env: registry.env });
  await user.mustThv('config', 'set-ca-cert', registry.certificatePath);
  await writeFile(registry.certificatePath, 'nothing');

  const bySetting = await user.thv(...run, '--', 'echo');
  const byFlag = await user.thv(...run, '--ca-cert', registry.certificatePath, '--', 'echo');
  const forRemote = await user.thv('run', 'http://127.0.0.1:1/mcp', '--ca-cert', registry.certificatePath);

  expect(bySetting.code).toBe(5);
  expect(bySetting.stderr).toMatch(
    /the file in the setting ca-cert cannot be used: .*\nHint: choose another file with thv config set-ca-cert/,
  );
  expect([byFlag.code, byFlag.stderr]).toEqual([2, expect.stringContaining('has no PEM certificate')]);
  expect([forRemote.code, forRemote.stderr]).toEqual([
    2,
    expect.stringContaining('--ca-cert is not supported'),
  ]);
});
