import { describe, expect, test } from 'vitest';
import { readManifest } from './manifest.ts';
import { filled, serverOf } from './template.ts';
import { aManifest, aServer } from './testing/manifests.ts';

const field = { type: 'string', title: 'A', description: 'A' };

function theServer(type: string, config: object, more: object = {}, platform = 'linux') {
  const server = aServer({ type, mcp_config: { args: [], env: {}, ...config } });
  const manifest = aManifest({ manifest_version: '0.4', server, ...more });
  return serverOf(readManifest(JSON.stringify(manifest), 'manifest.json'), platform);
}

describe('a bundle', () => {
  test.each([
    ['node', 'node', { runner: 'node' }],
    ['node', 'node.exe', { runner: 'node' }],
    ['node', '${__dirname}/bin/server', { runner: 'file', file: 'bin/server' }],
    ['python', 'python', { runner: 'python' }],
    ['python', 'python3.12', { runner: 'python' }],
    ['python', 'uv', { runner: 'uv' }],
    ['uv', 'uv', { runner: 'uv' }],
    ['binary', '${__dirname}/server/run', { runner: 'file', file: 'server/run' }],
    ['binary', '${__dirname}${/}server${/}run', { runner: 'file', file: 'server/run' }],
    ['binary', './server/run', { runner: 'file', file: 'server/run' }],
    ['binary', 'server/run', { runner: 'file', file: 'server/run' }],
  ])('of type %s starts %s', (type, command, expected) => {
    expect(theServer(type, { command })).toMatchObject(expected);
  });

  test.each([
    ['node', 'python'],
    ['node', '/usr/bin/node'],
    ['node', 'bash'],
    ['python', 'node'],
    ['python', '/usr/bin/python3'],
    ['uv', 'uvx'],
    ['binary', '/bin/sh'],
    ['binary', '../run'],
    ['binary', '${__dirname}/../run'],
    ['binary', '${__dirname}/a/../../run'],
    ['binary', '${HOME}/run'],
    ['binary', '${user_config.a}'],
    ['binary', 'node\n'],
    ['binary', '..\\run'],
  ])('of type %s does not start %s', (type, command) => {
    const start = () => theServer(type, { command }, { user_config: { a: field } });

    expect(start).toThrow(/starts ".*", which a \w+ bundle cannot/);
  });

  test.each<[string, string, object, string]>([
    ['node', 'npx', { args: ['-y', '@example/server@1.0.0'] }, 'thv run npx://@example/server@1.0.0'],
    [
      'node',
      'npx.cmd',
      {
        args: ['-y', '@example/server', '--key=${user_config.a}'],
        env: { LOG: 'info', KEY: '${user_config.a}' },
      },
      'thv run --env LOG=info --env KEY=A npx://@example/server -- --key=A',
    ],
    ['python', 'uvx', { args: ['example-server'] }, 'thv run uvx://example-server'],
    [
      'uv',
      'uvx',
      { args: ['--from', 'git+https://github.com/example/server', 'serve'] },
      'thv run uvx --from git+https://github.com/example/server serve',
    ],
    ['python', 'uvx', { args: ['example[cli]>=1'] }, "thv run uvx 'example[cli]>=1'"],
    [
      'python',
      'uvx',
      { args: ['--from', 'git+https://github.com/example/servers#subdirectory=one', 'serve'] },
      "thv run uvx --from 'git+https://github.com/example/servers#subdirectory=one' serve",
    ],
    [
      'node',
      'npx',
      { args: ['server'], env: { KEY: '${user_config.secret_key}', PLACE: '<place>' } },
      "thv run --secret SECRET_KEY,target=KEY --env 'PLACE=<place>' npx://server",
    ],
    [
      'node',
      'docker',
      { args: ['run', '-i', '--rm', '-e', 'A', '-eB=c', 'example/server:1', '--volume', 'x'] },
      'thv run docker run -i --rm -e A -eB=c example/server:1 --volume x',
    ],
  ])(
    'of type %s that starts %s is answered with the command for its server',
    (type, command, config, line) => {
      const fields = { a: field, secret_key: { ...field, sensitive: true } };
      const start = () => theServer(type, { command, ...config }, { user_config: fields });

      expect(start).toThrow(
        expect.objectContaining({
          kind: 'unsupported',
          hint: `the bundle only downloads its server, so run that instead: ${line}`,
        }) as Error,
      );
    },
  );

  test.each(['a b', '$(id)', 'a;b', "a'b"])('never suggests a command with the argument %s', (word) => {
    const start = () => theServer('node', { command: 'npx', args: ['-y', 'server', word] });

    expect(start).toThrow(
      expect.objectContaining({ hint: 'it can start node or a file in the bundle' }) as Error,
    );
  });

  test.each([
    [['-v', '/:/host']],
    [['--volume=/home:/home']],
    [['--mount', 'type=bind,src=/,dst=/x']],
    [['--privileged']],
    [['--network', 'host']],
    [['-e', 'A=b', '--pid=host']],
  ])('never suggests a container with the access %j', (flags) => {
    const start = () => theServer('node', { command: 'docker', args: ['run', '-i', ...flags, 'image'] });

    expect(start).toThrow(
      expect.objectContaining({ hint: 'it can start node or a file in the bundle' }) as Error,
    );
  });

  test.each([
    ['${PATH}'],
    ['${user_config.missing}'],
    ['${env:HOME}'],
    ['${__dirname }'],
    ['${user_config}'],
    ['${constructor}'],
  ])('with the unknown variable %s is refused', (text) => {
    expect(() => theServer('node', { command: 'node', env: { A: text } })).toThrow(
      /uses the unknown variable/,
    );
    expect(() => theServer('node', { command: 'node', args: [text] })).toThrow(/uses the unknown variable/);
  });

  test('starts what its override for this platform says', () => {
    const overrides = { linux: { args: ['--linux'] }, win32: { command: 'node.exe', args: ['--windows'] } };
    const config = { command: 'node', args: ['--any'], env: { A: '1' }, platform_overrides: overrides };

    expect(theServer('node', config)).toMatchObject({ args: ['--linux'], env: { A: '1' } });
    expect(theServer('node', config, {}, 'darwin')).toMatchObject({ args: ['--any'] });
  });

  test('for other platforms is refused', () => {
    const compatibility = { platforms: ['darwin', 'win32'] };

    expect(() => theServer('node', { command: 'node' }, { compatibility })).toThrow(
      'the bundle notes is for darwin, win32, and this is linux',
    );
  });

  test('of the type uv needs no command', () => {
    const server = aServer({ type: 'uv', entry_point: 'src/server.py', mcp_config: undefined });
    const manifest = readManifest(JSON.stringify(aManifest({ manifest_version: '0.4', server })), 'x');

    expect(serverOf(manifest, 'linux')).toMatchObject({
      runner: 'uv',
      args: ['run', '${__dirname}/src/server.py'],
    });
  });
});

describe('the variables of a bundle', () => {
  const places = { directory: '/opt/bundle', home: '/home/server' };
  const fill = (args: string[], config = {}, env = {}, defaults = {}) =>
    filled({ args, env, defaults }, { ...places, config });

  test.each([
    [['${__dirname}/a'], {}, ['/opt/bundle/a']],
    [
      ['${HOME}/a', '${DESKTOP}', '${DOCUMENTS}', '${DOWNLOADS}'],
      {},
      ['/home/server/a', '/home/server/Desktop', '/home/server/Documents', '/home/server/Downloads'],
    ],
    [['a${/}b${pathSeparator}c'], {}, ['a/b/c']],
    [['--a=${user_config.a}'], { a: 'x' }, ['--a=x']],
    [['${user_config.a}', 'z'], { a: ['x', 'y'] }, ['x', 'y', 'z']],
    [['--all=${user_config.a}'], { a: ['x', 'y'] }, ['--all=x,y']],
    [['--a', '${user_config.a}', 'z'], {}, ['z']],
    [['-v', 'b', '${user_config.a}'], { a: [] }, ['-v', 'b']],
    [['--a=${user_config.a}'], {}, []],
  ])('in %j with %j become %j', (args, config, expected) => {
    expect(fill(args, config).args).toEqual(expected);
  });

  test('in a value of the user stay as they are', () => {
    const { args, env } = fill(
      ['${user_config.a}'],
      { a: '${__dirname} ${user_config.b} $& $1', b: 'secret' },
      {
        A: 'x ${user_config.a}',
      },
    );

    expect(args).toEqual(['${__dirname} ${user_config.b} $& $1']);
    expect(env).toEqual({ A: 'x ${__dirname} ${user_config.b} $& $1' });
  });

  test('take the defaults of the bundle, in its own home directory', () => {
    const defaults = { db: '${HOME}/data.db', level: 'info' };
    const args = ['${user_config.db}', '${user_config.level}'];

    expect(fill(args, {}, {}, defaults).args).toEqual(['/home/server/data.db', 'info']);
    expect(fill(args, { level: 'debug', db: [] }, {}, defaults).args).toEqual(['debug']);
  });

  test('without a value leave an environment variable out', () => {
    expect(fill([], { b: '1' }, { A: '${user_config.a}', B: '${user_config.b}', C: 'c' }).env).toEqual({
      B: '1',
      C: 'c',
    });
  });
});
