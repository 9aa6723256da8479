import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { certificateBundle } from './trust.ts';

test('tools trust a certificate beside all that they trusted before', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-trust-'));
  const theirs = join(folder.path, 'theirs.pem');
  await writeFile(theirs, 'THEIR CERTIFICATE');

  const bundle = await certificateBundle(
    { PATH: '/bin', SSL_CERT_FILE: theirs, GIT_SSL_CAINFO: '/not/there' },
    'OUR CERTIFICATE',
  );

  expect(bundle).toContain('OUR CERTIFICATE\n');
  expect(bundle).toContain('THEIR CERTIFICATE\n');
  expect(bundle?.match(/-----BEGIN CERTIFICATE-----/g)?.length).toBeGreaterThan(50);
});

test('tools trust the certificates of the system, which they do not read themselves', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-trust-'));
  const system = join(folder.path, 'system.pem');
  await writeFile(system, 'CERTIFICATE OF THE COMPANY');

  expect(await certificateBundle({ PATH: '/bin' }, undefined, ['/not/there', system])).toContain(
    'CERTIFICATE OF THE COMPANY',
  );
});

test('tools that are told nothing keep what they trust on a system without certificates', async () => {
  const env = { PATH: '/bin', SSL_CERT_FILE: '/not/there' };

  expect(await certificateBundle(env, undefined, ['/not/there'])).toBeUndefined();
});
