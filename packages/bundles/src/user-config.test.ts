import { describe, expect, test } from 'vitest';
import { readManifest } from './manifest.ts';
import { aManifest } from './testing/manifests.ts';
import { configFor, fieldsOf, splitSecrets } from './user-config.ts';

function theFields(fields: Record<string, object>) {
  const complete = Object.entries(fields).map(([key, field]) => [
    key,
    { title: key, description: `The ${key}.`, ...field },
  ]);
  const manifest = aManifest({ user_config: Object.fromEntries(complete) });
  return fieldsOf(readManifest(JSON.stringify(manifest), 'manifest.json'), '/home/ada');
}

const configure = (
  fields: Record<string, object>,
  given: Parameters<typeof configFor>[2],
  targets: string[] = [],
) => configFor('notes', theFields(fields), given, targets);

describe('the fields of a bundle', () => {
  test.each([
    [{ type: 'string' }, 'x', 'x'],
    [{ type: 'number', min: 1, max: 10 }, 5, '5'],
    [{ type: 'number' }, ' 1e3 ', '1000'],
    [{ type: 'boolean' }, true, 'true'],
    [{ type: 'boolean' }, 'FALSE', 'false'],
    [{ type: 'string', multiple: true }, ['a', 'b'], ['a', 'b']],
    [{ type: 'string', multiple: true }, 'a', ['a']],
    [{ type: 'number', multiple: true }, [1, 2], ['1', '2']],
    [{ type: 'number' }, '', []],
  ])('%j take %j', (field, value, expected) => {
    expect(configure({ a: field }, { a: value })).toEqual({ values: { a: expected }, volumes: [] });
  });

  test.each([
    [{ type: 'number' }, 'many', 'a takes a number, and "many" is none'],
    [{ type: 'number' }, 'Infinity', 'a takes a number'],
    [{ type: 'number', min: 1 }, 0, 'a takes a number from 1, and "0" is outside'],
    [{ type: 'number', min: 1, max: 3 }, 4, 'a takes a number from 1 up to 3, and "4" is outside'],
    [{ type: 'boolean' }, 'yes', 'a takes true or false, and "yes" is neither'],
    [{ type: 'string' }, ['a', 'b'], 'a takes one value, and 2 were given'],
    [{ type: 'string' }, 'a\0b', 'NUL'],
    [{ type: 'directory' }, 'notes', 'a takes the absolute path of a directory'],
    [{ type: 'file' }, '/a:b', 'a takes the absolute path of a file'],
    [{ type: 'directory' }, '/a\nb', 'a takes the absolute path of a directory'],
  ])('%j refuse %j', (field, value, message) => {
    const given = () => configure({ a: field }, { a: value });

    expect(given).toThrow(message);
  });

  test('mount only the paths that the user names', () => {
    const fields = {
      notes: { type: 'directory', multiple: true, default: ['${HOME}/Documents'] },
      key: { type: 'file' },
      text: { type: 'string', default: '/etc' },
    };

    const { values, volumes } = configure(fields, {
      notes: ['/srv/a', '/srv/b/:ro'],
      key: '/srv/key:ro',
      text: '/root',
    });

    expect(volumes).toEqual(['/srv/a:/srv/a', '/srv/b:/srv/b:ro', '/srv/key:/srv/key:ro']);
    expect(values).toEqual({ notes: ['/srv/a', '/srv/b'], key: '/srv/key', text: '/root' });
  });

  test('with a proposed path must be answered, and an empty answer mounts nothing', () => {
    const fields = { notes: { type: 'directory', default: '${HOME}/Documents' } };

    expect(theFields(fields)).toMatchObject([{ proposal: '/home/ada/Documents' }]);
    expect(() => configure(fields, {})).toThrow(
      expect.objectContaining({
        message: 'the bundle notes needs notes',
        hint: expect.stringContaining('the bundle proposes /home/ada/Documents') as string,
      }) as Error,
    );
    expect(configure(fields, { notes: '' })).toEqual({ values: { notes: [] }, volumes: [] });
  });

  test('that are required are named, all of them', () => {
    const fields = {
      key: { type: 'string', required: true, sensitive: true },
      url: { type: 'string', required: true },
      level: { type: 'string', required: true, default: 'info' },
      other: { type: 'string' },
    };

    expect(() => configure(fields, {})).toThrow('the bundle notes needs key, url');
    expect(() => configure(fields, { url: '' }, ['user_config.key'])).toThrow('the bundle notes needs url');
    expect(configure(fields, { url: 'x' }, ['user_config.key'])).toEqual({
      values: { url: 'x' },
      volumes: [],
    });
  });

  test('that are sensitive take only secrets, and no error repeats a value', () => {
    const fields = { key: { type: 'number', sensitive: true } };

    const given = () => configure(fields, { key: 'canary-123' });

    expect(given).toThrow('key is sensitive');
    expect(given).not.toThrow(/canary/);
    expect(() => configure(fields, { key: 'x' }, ['user_config.key'])).toThrow(
      'key has both a value and a secret',
    );
  });

  test.each([
    [{ other: 'x' }, []],
    [{}, ['user_config.other']],
  ])('refuse unknown keys: %j %j', (given, targets) => {
    expect(() => configure({ key: { type: 'string' } }, given, targets)).toThrow(
      'the bundle notes has no field "other"',
    );
  });
});

test('the secrets of fields never become environment variables', () => {
  const secrets = { API_KEY: 'a', 'user_config.key': 'b' };

  expect(splitSecrets(secrets)).toEqual({ variables: { API_KEY: 'a' }, values: { key: 'b' } });
});
