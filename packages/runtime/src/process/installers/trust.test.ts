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

test('tools that are told nothing keep what they trust', async () => {
  expect(await certificateBundle({ PATH: '/bin', SSL_CERT_FILE: '/not/there' }, undefined)).toBeUndefined();
});
