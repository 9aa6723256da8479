import { describe, expect, test } from 'vitest';
import { readClientDocument } from './client-document.ts';
import { readClientEntry } from './client-entry.ts';

const server = { command: 'npx', args: ['-y', 'server'] };

/** Reads the first server of a configuration in a project with these files. */
async function readIn(directory: string, files: Record<string, string>, document: object) {
  const { entries, inputs } = readClientDocument(JSON.stringify(document), 'it');
  const [entry] = entries;
  if (entry === undefined) throw new Error('the document has no server');
  return readClientEntry(entry, {
    env: { FROM_OUTSIDE: 'outside' },
    directory,
    inputs,
    readFile: (path) => {
      const text = files[path];
      return text === undefined ? Promise.reject(new Error(`${path} is missing`)) : Promise.resolve(text);
    },
  });
}

test.each([
  ['a development container', '${localEnv:FROM_OUTSIDE}'],
  ['LiteLLM', 'os.environ/FROM_OUTSIDE'],
])('a variable of the machine has its value, as in %s', async (_title, text) => {
  const { request, needs } = await readIn(
    '/project',
    {},
    { mcpServers: { one: { ...server, env: { A: text } } } },
  );

  expect(request.env_vars).toEqual({ A: 'outside' });
  expect(needs).toEqual([]);
});

describe('the environment file of an entry', () => {
  test.each<[string, string, Record<string, string>]>([
    ['quotes', 'QUOTED="a b"\nSINGLE=\'c d\'\n', { QUOTED: 'a b', SINGLE: 'c d' }],
    ['a comment after a value', 'INLINE=x # note\nA=b # c\n', { INLINE: 'x', A: 'b' }],
    ['a value of several lines', 'LINES="first\nsecond"\nNEXT=1\n', { LINES: 'first\nsecond', NEXT: '1' }],
    [
      'single quotes around lines',
      "KEY='-----BEGIN\nabc=\n-----END'\n",
      { KEY: '-----BEGIN\nabc=\n-----END' },
    ],
    ['escaped line ends', 'LINES="first\\nsecond"\n', { LINES: 'first\nsecond' }],
    ['a comment sign in quotes', 'PASS="a#b" # note\n', { PASS: 'a#b' }],
    ['export, spaces, and CRLF', 'export A = 1\r\n  B="2"\r\n# C=3\r\n', { A: '1', B: '2' }],
    ['a byte order mark and an empty value', '\uFEFFA=1\nEMPTY=\n', { A: '1', EMPTY: '' }],
    ['an equals sign in a value', 'DSN=postgres://h/db?x=1\n', { DSN: 'postgres://h/db?x=1' }],
  ])('is read as editors do, with %s', async (_title, text, expected) => {
    const document = { servers: { one: { ...server, envFile: '${workspaceFolder}/values.env' } } };

    const { request, needs } = await readIn('/my project', { '/my project/values.env': text }, document);

    expect(request.env_vars).toEqual(expected);
    expect(needs).toEqual([]);
  });

  test.each([
    ['a relative path', { envFile: 'values.env' }],
    ['a relative path with a dot', { envFile: './values.env' }],
    ['another spelling', { env_file: '/project/values.env' }],
    ['the form of other editors', { envFile: '${workspaceRoot}/values.env' }],
    ['the project of Claude Code', { envFile: '${CLAUDE_PROJECT_DIR}/values.env' }],
    ['the project of JetBrains', { envFile: '$PROJECT_DIR$/values.env' }],
    ['the plugin of Claude Code', { envFile: '${CLAUDE_PLUGIN_ROOT}/values.env' }],
    ['the extension of Gemini CLI', { envFile: '${extensionPath}${/}values.env' }],
  ])('is found by %s', async (_title, fields) => {
    const document = { mcpServers: { one: { ...server, ...fields, env: { B: 'own' } } } };

    const { request } = await readIn('/project', { '/project/values.env': 'A="a b"\nB=file' }, document);

    expect(request.env_vars).toEqual({ A: 'a b', B: 'own' });
  });

  test('gives its values to the placeholders of the entry', async () => {
    const one = { command: 'npx', args: ['-y', 'server', '--org=${ORG}'], envFile: '.env' };

    const { request, needs } = await readIn(
      '/project',
      { '/project/.env': "ORG='my org'" },
      { servers: { one } },
    );

    expect(request.cmd_arguments).toEqual(['--org=my org']);
    expect(needs).toEqual([]);
  });
});

describe('the project of a configuration', () => {
  test.each([
    ['${workspaceFolder}', '/work/my project'],
    ['${workspaceFolder}/src', '/work/my project/src'],
    ['${workspaceFolderBasename}', 'my project'],
    ['--root=${workspaceRoot}', '--root=/work/my project'],
    ['${workspaceFolder:api}', '/work/my project'],
    ['${CLAUDE_PROJECT_DIR}/x', '/work/my project/x'],
    ['${PWD}', '/work/my project'],
    ['a${pathSeparator}b${/}c', 'a/b/c'],
    ['${env:FROM_OUTSIDE}', 'outside'],
  ])('is the value of %s', async (text, expected) => {
    const code = { ...server, args: [...server.args, text], env: { ROOT: text } };

    const { request, needs } = await readIn('/work/my project', {}, { servers: { code } });

    expect(request).toMatchObject({ cmd_arguments: [expected], env_vars: { ROOT: expected } });
    expect(needs).toEqual([]);
  });

  test.each([
    ['-v ${workspaceFolder}:/src', '/work/app:/src'],
    ['-v ${workspaceFolder}/data:/data:ro', '/work/app/data:/data:ro'],
    ['--mount type=bind,src=${workspaceFolder},dst=/src', '/work/app:/src'],
    ['-v .:/src', '/work/app:/src'],
  ])('is mounted by docker run %s', async (flags, expected) => {
    const code = { command: 'docker', args: ['run', '-i', '--rm', ...flags.split(' '), 'example/server'] };

    const { request } = await readIn('/work/app', {}, { servers: { code } });

    expect(request.volumes).toEqual([expected]);
  });
});
