import { describe, expect, test } from 'vitest';
import { readManifest, readPublishedManifest } from './manifest.ts';
import { filled, serverOf } from './template.ts';
import { aManifest, aServer } from './testing/manifests.ts';
import { configFor, fieldsOf } from './user-config.ts';

const textOf = (changes: object): string => JSON.stringify(aManifest(changes));
const read = (changes: object) => readManifest(textOf(changes), 'manifest.json');
const withConfig = (config: object) => ({
  server: aServer({ mcp_config: { command: 'node', args: ['${__dirname}/index.js'], ...config } }),
});
const withField = (field: object) => ({
  user_config: { key: { type: 'string', title: 'Key', description: 'A key', ...field } },
});

/** The command line of a manifest on Linux. */
function wordsOf(changes: object) {
  const server = serverOf(read(changes), 'linux');
  const { args, env } = filled(server, { directory: '/bundle', home: '/home', config: {} });
  return { runner: server.runner, file: server.file, args, env };
}

describe('a manifest', () => {
  test.each<[string, object]>([
    ['null for what it does not have', { user_config: null, compatibility: null, tools: null, icon: null }],
    [
      'null in its command',
      withConfig({ env: null, platform_overrides: { linux: { args: null }, win32: null } }),
    ],
    ['no command', { server: aServer({ mcp_config: null, entry_point: 'index.js' }) }],
    ['null for its platforms', { compatibility: { platforms: null, runtimes: null } }],
    ['other names of platforms', { compatibility: { platforms: ['macos', 'windows', 'linux'] } }],
    ['a number as its version', { version: 1 }],
    ['a version of its format with three parts', { manifest_version: '0.2.0' }],
    ['a version of its format with a letter', { manifest_version: 'v0.3' }],
  ])('may have %s', (_what, changes) => {
    expect(wordsOf({ ...withConfig({}), ...changes })).toMatchObject({
      runner: 'node',
      args: ['/bundle/index.js'],
    });
  });

  test.each<[string, object, object]>([
    ['numbers in arguments', { args: ['--port', 80, true] }, { args: ['--port', '80', 'true'] }],
    ['numbers in variables', { env: { PORT: 80, DEBUG: false } }, { env: { PORT: '80', DEBUG: 'false' } }],
    ['backslashes', { args: ['${__dirname}\\dist\\a.js'] }, { args: ['/bundle/dist/a.js'] }],
    [
      'another name of a platform in its overrides',
      { platform_overrides: { macos: { command: 'python' } } },
      { runner: 'node' },
    ],
  ])('may have %s', (_what, config, words) => {
    expect(wordsOf(withConfig(config))).toMatchObject(words);
  });

  test('may have a server type that only a later version of the format has', () => {
    const server = aServer({
      type: 'uv',
      mcp_config: { command: 'uv', args: ['run', '--directory', '${__dirname}', 'a'] },
    });
    const manifest = { manifest_version: '0.3', server };

    expect(wordsOf(manifest)).toMatchObject({ runner: 'uv' });
    expect(() => readPublishedManifest(textOf(manifest), 'manifest.json')).toThrow('server.type');
  });

  test('has the command for a platform under another name', () => {
    const overrides = {
      macos: { command: '${__dirname}/bin/mac' },
      windows: { command: '${__dirname}/bin/a.exe' },
    };
    const manifest = read(withConfig({ platform_overrides: overrides }));

    expect(serverOf(manifest, 'darwin').file).toBe('bin/mac');
    expect(serverOf(manifest, 'win32').file).toBe('bin/a.exe');
  });

  test('is not published with such a mistake', () => {
    const text = textOf({ user_config: null });

    expect(() => readPublishedManifest(text, 'manifest.json')).toThrow(
      /manifest\.json is invalid: user_config/,
    );
  });
});

describe('a field', () => {
  test.each([{ is_secret: true }, { secret: true }, { isSecret: 'true' }, { sensitive: 'True' }])(
    'with %j is sensitive',
    (field) => {
      const fields = fieldsOf(read(withField(field)), '/home/ada');

      expect(fields).toMatchObject([{ key: 'key', sensitive: true }]);
      expect(() => configFor('notes', fields, { key: 'plain' }, [])).toThrow(/key is sensitive/);
    },
  );

  test.each<[string, object, object]>([
    ['no title', { title: undefined, description: null }, { title: '', description: '' }],
    ['a text for true', { required: 'true' }, { required: true }],
    ['null for its limits', { type: 'number', min: null, max: null, default: null }, { type: 'number' }],
  ])('may have %s', (_what, field, read_) => {
    expect(fieldsOf(read(withField(field)), '/home/ada')).toMatchObject([read_]);
  });
});
