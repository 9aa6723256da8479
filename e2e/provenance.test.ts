import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openTestSigstore } from '@toolhive/registry/testing/sigstore';
import { openNpmRegistry } from '@toolhive/runtime/testing/npm-registry';
import type { NpmRegistry } from '@toolhive/runtime/testing/npm-registry';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { makeUser } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

const server = `#!/usr/bin/env node
import { createInterface } from 'node:readline';
const results = {
  initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'built', version: '1' } },
  'tools/list': { tools: [{ name: 'tell', inputSchema: { type: 'object' } }] },
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = results[method] === undefined ? { error: { code: -32601, message: 'unknown' } } : { result: results[method] };
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...answer }) + '\\n');
}
`;

let user: User;
let registry: NpmRegistry;

beforeAll(async () => {
  const temporary = await makeUser();
  const folder = join(temporary.home, 'published');
  await mkdir(folder);
  const manifest = { name: 'built', version: '1.0.0', type: 'module', bin: 'main.js' };
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
  await writeFile(join(folder, 'main.js'), server, { mode: 0o755 });
  registry = await openNpmRegistry([folder]);
  await temporary[Symbol.asyncDispose]();
  // The content of a name and version differs between tests, so nothing is taken from the cache that all tests share.
  user = await makeUser({ env: { npm_config_registry: registry.url, npm_config_cache: undefined } });
});
afterAll(async () => {
  await user?.[Symbol.asyncDispose]();
  await registry?.[Symbol.asyncDispose]();
});

const attestations = '/-/npm/v1/attestations/built@1.0.0';

test('a package with an attestation without a trusted signature is not run', async () => {
  proves('security.packages.provenance');
  await using sigstore = await openTestSigstore();
  const [, base64 = ''] = registry.integrityOf('built', '1.0.0').split('-', 2);
  const sha512 = Buffer.from(base64, 'base64').toString('hex');
  const predicateType = 'https://slsa.dev/provenance/v1';
  const bundle = await sigstore.attest({
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: 'pkg:npm/built@1.0.0', digest: { sha512 } }],
    predicateType,
  });
  const body = JSON.stringify({ attestations: [{ predicateType, bundle }] });
  registry.answers.set(attestations, { status: 200, body });

  const { code, stderr } = await user.thv('run', 'npx://built@1.0.0', '--permission-profile', 'none');

  registry.answers.delete(attestations);
  expect(code).not.toBe(0);
  expect(stderr).toContain(
    'the provenance of package built 1.0.0 is wrong: Failed to verify certificate chain',
  );
  expect(stderr).toContain('do not run this version');
  expect(await user.mustThv('list', '--all')).not.toContain('built');
});

test('thv run says that nothing proves where a package was built, and warns of a young version', async () => {
  const flags = ['--permission-profile', 'none', '--format', 'json'];

  const { code, stdout, stderr } = await user.thv('run', 'npx://built@1.0.0', ...flags);

  expect(code).toBe(0);
  expect(stderr).toContain(
    'note: provenance: absent (the package registry has no provenance of this version)',
  );
  expect(stderr).toContain('WARNING: npx://built@1.0.0 was published very recently');
  expect(JSON.parse(stdout)).toMatchObject({
    integrity: registry.integrityOf('built', '1.0.0'),
    provenance: { status: 'absent' },
  });
});

test('thv run does not warn of versions that are older than the setting', async () => {
  await user.mustThv('config', 'set-minimum-package-age', '0');

  const { stderr } = await user.thv(
    'run',
    'npx://built@1.0.0',
    '--name',
    'old',
    '--permission-profile',
    'none',
  );

  expect(stderr).not.toContain('very recently');
});
