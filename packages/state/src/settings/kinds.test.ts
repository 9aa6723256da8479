import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SettingValue } from '@toolhive/contract/setting';
import { settings } from '@toolhive/contract/settings';
import { describe, expect, test } from 'vitest';
import { selfSigned } from '@toolhive/runtime/testing/self-signed';
import { readCertificates, readers } from './kinds.ts';

describe('a value is read as its kind says', () => {
  test.each([
    ['boolean', '1', true],
    ['boolean', 'T', true],
    ['boolean', 'True', true],
    ['boolean', true, true],
    ['boolean', '0', false],
    ['boolean', 'f', false],
    ['boolean', false, false],
    ['rate', '0.0', 0],
    ['rate', '1', 1],
    ['rate', 0.25, 0.25],
    ['endpoint', 'localhost:4318', 'localhost:4318'],
    ['endpoint', '[::1]:4318', '[::1]:4318'],
    ['variables', 'A, B_C', ['A', 'B_C']],
    ['variables', ['A'], ['A']],
    ['certificate', '/etc/ssl/a.pem', '/etc/ssl/a.pem'],
  ] as const)('%s %j is %j', (kind, given, value) => {
    expect(readers[kind](SettingValue.parse(given))).toEqual(value);
  });

  test.each([
    ['boolean', 'yes', /"yes" is not true or false/],
    ['boolean', 2, /2 is not true or false/],
    ['rate', '1.1', /from 0\.0 to 1\.0/],
    ['rate', '-0.1', /from 0\.0 to 1\.0/],
    ['rate', '', /from 0\.0 to 1\.0/],
    ['rate', 'NaN', /from 0\.0 to 1\.0/],
    ['endpoint', 'https://localhost:4318', /begins with a scheme/],
    ['endpoint', 'localhost', /is not HOST:PORT/],
    ['endpoint', 'localhost:99999', /is not HOST:PORT/],
    ['endpoint', 'user@localhost:1', /is not HOST:PORT/],
    ['endpoint', 'localhost:1/path', /is not HOST:PORT/],
    ['variables', 'A,,B', /is not names/],
    ['variables', 'A B', /is not names/],
    ['certificate', 'relative.pem', /absolute path/],
    ['registry', '', /is not a text/],
  ] as const)('%s %j is refused', (kind, given, message) => {
    const read = (): unknown => readers[kind](SettingValue.parse(given));

    expect(read).toThrow(message);
  });

  test.each(settings.filter(({ kind }) => kind !== 'registry'))('the example of $name is one', (setting) => {
    expect(readers[setting.kind](setting.example)).toBeDefined();
  });
});

describe('a file of certificates', () => {
  const { certificate, key } = selfSigned('example');

  test('gives its certificates and nothing else', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-pem-'));
    const path = join(folder.path, 'ca.pem');
    await writeFile(path, `# Ours\n${key}${certificate}\n# Again\n${certificate}`);

    expect(await readCertificates(path)).toBe(certificate + certificate);
  });

  test.each([
    ['has none', 'nothing', /has no PEM certificate/],
    ['has a key only', key, /has no PEM certificate/],
    ['is damaged', certificate.replace(/\n.{40}/, '\n'), /is damaged/],
    ['is huge', certificate.repeat(5000), /larger than a megabyte/],
    ['is not there', undefined, /cannot be read/],
  ])('is refused when it %s', async (_what, text, message) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-pem-'));
    const path = join(folder.path, 'ca.pem');
    if (text !== undefined) await writeFile(path, text);

    await expect(readCertificates(path)).rejects.toThrow(message);
  });
});
