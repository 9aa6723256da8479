import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { environmentTrusting } from './trust.ts';

test('tools trust a certificate beside all that they trusted before', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-trust-'));
  const theirs = join(folder.path, 'theirs.pem');
  await writeFile(theirs, 'THEIR CERTIFICATE');
  const file = join(folder.path, 'all.pem');

  const env = await environmentTrusting(
    { PATH: '/bin', SSL_CERT_FILE: theirs, GIT_SSL_CAINFO: '/not/there' },
    'OUR CERTIFICATE',
    file,
  );

  expect(env).toEqual({
    PATH: '/bin',
    NODE_EXTRA_CA_CERTS: file,
    SSL_CERT_FILE: file,
    GIT_SSL_CAINFO: file,
    CURL_CA_BUNDLE: file,
    REQUESTS_CA_BUNDLE: file,
  });
  const text = await readFile(file, 'utf8');
  expect(text).toContain('OUR CERTIFICATE\n');
  expect(text).toContain('THEIR CERTIFICATE\n');
  expect(text.match(/-----BEGIN CERTIFICATE-----/g)?.length).toBeGreaterThan(50);
});

test('npm is told only where it was told before', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-trust-'));
  const file = join(folder.path, 'all.pem');

  const env = await environmentTrusting({ npm_config_cafile: '/not/there' }, 'OUR CERTIFICATE', file);

  expect(env['npm_config_cafile']).toBe(file);
});
