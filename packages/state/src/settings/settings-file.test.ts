import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SettingsFile } from './settings-file.ts';

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'thv-settings-'));
  path = join(directory, 'config.yaml');
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const log = pino({ level: 'silent' });

describe('the settings file', () => {
  test('does not exist at first, and is made by the first change', async () => {
    const settings = await SettingsFile.open(path, log);

    await settings.change([['secrets', 'provider_type'], 'encrypted']);

    expect(settings.current.secrets?.provider_type).toBe('encrypted');
    expect(await readFile(path, 'utf8')).toBe('secrets:\n  provider_type: encrypted\n');
  });

  test('keeps comments, order and the keys of others', async () => {
    await writeFile(path, '# mine\nfuture: {a: 1}\nregistry_url: https://old.example # why\n');
    const settings = await SettingsFile.open(path, log);

    await settings.change([['registry_url'], 'https://new.example']);

    expect(await readFile(path, 'utf8')).toBe(
      '# mine\nfuture: { a: 1 }\nregistry_url: https://new.example # why\n',
    );
  });

  test('takes a key out', async () => {
    await writeFile(path, 'registry_url: https://old.example\nlocal_registry_path: /a.json\n');
    const settings = await SettingsFile.open(path, log);

    await settings.change([['registry_url'], undefined]);

    expect(settings.current).toEqual({ local_registry_path: '/a.json' });
  });

  test.each(['', 'otel:\n', 'otel: {}\n', 'otel: { endpoint: old }\n'])(
    'takes a key below another one, in %j',
    async (before) => {
      await writeFile(path, before);
      const settings = await SettingsFile.open(path, log);

      await settings.change([['otel', 'endpoint'], 'new']);

      expect(settings.current.otel).toEqual({ endpoint: 'new' });
    },
  );

  test.each(['', '  \n', 'otel: {'])('says that settings may be lost if the file is %j', async (content) => {
    await writeFile(path, content);

    const settings = await SettingsFile.open(path, log);
    const before = settings.loss;
    await settings.change([['registry_url'], 'https://new.example']);

    expect(before).toContain('so all settings have their defaults');
    expect(before).toContain(path);
    expect(settings.loss).toBeUndefined();
  });

  test.each([undefined, '# nothing yet\n', 'otel: {}\n'])(
    'loses nothing if the file is %j',
    async (content) => {
      if (content !== undefined) await writeFile(path, content);

      const settings = await SettingsFile.open(path, log);

      expect(settings.loss).toBeUndefined();
    },
  );

  test('has nothing to take out of an empty file', async () => {
    const settings = await SettingsFile.open(path, log);

    await settings.change([['registry_url'], undefined], [['clients', 'registered_clients'], undefined]);

    expect(settings.current).toEqual({});
  });

  test('sees what a person changed meanwhile', async () => {
    const settings = await SettingsFile.open(path, log);
    await writeFile(path, 'allow_private_registry_ip: true\n');

    await settings.change([['registry_url'], 'https://new.example']);

    expect(settings.current.allow_private_registry_ip).toBe(true);
  });

  test.each([
    ['no YAML', 'a: [1\nb: }'],
    ['of another shape', 'secrets: 12\n'],
    ['a list', '- 1\n'],
  ])('that is %s is set aside and reported', async (_what, text) => {
    await writeFile(path, text);
    const reports: string[] = [];
    const telling = pino({}, { write: (line) => void reports.push(line) });

    const settings = await SettingsFile.open(path, telling);

    expect(settings.current).toEqual({});
    expect(reports.join('')).toContain(`${path}.set-aside`);
    expect(await readFile(`${path}.set-aside`, 'utf8')).toBe(text);
  });

  test('that a person broke meanwhile is not overwritten', async () => {
    const settings = await SettingsFile.open(path, log);
    await writeFile(path, 'a: [1\nb: }');

    const change = settings.change([['registry_url'], 'https://new.example']);

    await expect(change).rejects.toMatchObject({ kind: 'conflict' });
    expect(await readFile(path, 'utf8')).toBe('a: [1\nb: }');
  });
});
