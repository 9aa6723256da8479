import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { desiredOf } from './desired.ts';
import type { Answers, Desired } from './desired.ts';
import { parseFile } from './file.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'thv-project-'));
  await mkdir(join(directory, 'data'));
  await mkdir(join(directory, 'server'));
  await writeFile(join(directory, 'server', 'package.json'), '{"name": "own", "bin": "x.js"}');
  await symlink(homedir(), join(directory, 'link'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const variables = {
  GITHUB_TOKEN: 'ghp_CaNaRyabcdefghijklmnopqrstuvwxyz01',
  AWS_SECRET_ACCESS_KEY: 'CaNaRyAws',
  REGION: 'north',
};

function desired(text: string, name = 'toolhive.yaml', answers: Partial<Answers> = {}): Promise<Desired> {
  const path = join(directory, name);
  const { servers, inputs } = parseFile(text, path);
  const [server] = servers;
  if (server === undefined) throw new Error('the file has no server');
  return desiredOf(server, { directory, inputs, answers: { variables, inputs: {}, ...answers } });
}

const native = (lines: string, source = 'npx://example'): string =>
  `version: 1\nservers:\n  a:\n    source: ${source}\n${lines}`;
const client = (entry: object, inputs: object[] = []): string =>
  JSON.stringify({ inputs, mcpServers: { a: entry } });
const npx = { command: 'npx', args: ['-y', 'example'] };

test('optional variables of an extension are used if the user has them, and are not missed otherwise', async () => {
  const settings = ['REGION', 'AWS_SECRET_ACCESS_KEY', 'NOT_SET'].map((name) => ({ name, envVar: name }));

  const { request, values, access } = await desired(
    JSON.stringify({ mcpServers: { a: npx }, settings }),
    'gemini-extension.json',
  );

  expect(request.env_vars).toEqual({ REGION: 'north' });
  expect(values).toMatchObject([{ target: 'AWS_SECRET_ACCESS_KEY', value: 'CaNaRyAws' }]);
  expect(access.join()).toMatch(/REGION.*AWS_SECRET|AWS_SECRET.*REGION/);
});

describe('variables of the user', () => {
  test.each<[string, string, string]>([
    ['in a variable', 'toolhive.yaml', native('    env: {TOKEN: "${GITHUB_TOKEN}"}\n')],
    ['in a part of a variable', 'toolhive.yaml', native('    env: {HEADERS: "x ${env:GITHUB_TOKEN} y"}\n')],
    ['in an argument', 'toolhive.yaml', native('    args: ["--token=${GITHUB_TOKEN}"]\n')],
    ['with a default', 'toolhive.yaml', native('    env: {TOKEN: "${GITHUB_TOKEN:-none}"}\n')],
    [
      'in a header',
      'toolhive.yaml',
      native('    headers: {X: "Bearer ${GITHUB_TOKEN}"}\n', 'https://mcp.example.com'),
    ],
    ['in a URL', 'toolhive.yaml', native('', '"https://mcp.example.com/?key=${GITHUB_TOKEN}"')],
    ['in a variable of a client', '.mcp.json', client({ ...npx, env: { TOKEN: '${GITHUB_TOKEN}' } })],
    [
      'in the form of another client',
      'opencode.json',
      client({ ...npx, env: { TOKEN: '{env:GITHUB_TOKEN}' } }),
    ],
    [
      'in an argument of a client',
      '.mcp.json',
      client({ command: 'npx', args: ['example', '--token', '${env:GITHUB_TOKEN}'] }),
    ],
    [
      'in a header of a client',
      '.mcp.json',
      client({ url: 'https://mcp.example.com', headers: { Authorization: 'Bearer ${GITHUB_TOKEN}' } }),
    ],
    [
      'that a client names',
      'x.json',
      client({ url: 'https://mcp.example.com', bearer_token_env_var: 'GITHUB_TOKEN' }),
    ],
    [
      'that a container gets',
      '.mcp.json',
      client({ command: 'docker', args: ['run', '-i', '-e', 'GITHUB_TOKEN', 'example/x'] }),
    ],
  ])('%s become secrets, and are named', async (_what, name, text) => {
    const { request, values, access } = await desired(text, name);

    expect(JSON.stringify(request)).not.toContain('CaNaRy');
    expect(values.some(({ value }) => value?.includes(variables.GITHUB_TOKEN) === true)).toBe(true);
    expect(access).toContain('your environment variable GITHUB_TOKEN');
    expect(JSON.stringify([request, values, access])).not.toContain('CaNaRyAws');
  });

  test('that are no credentials are part of the settings, and are named too', async () => {
    const { request, values, access } = await desired(native('    env: {PLACE: "${REGION}"}\n'));
    const passed = await desired(
      client({ command: 'docker', args: ['run', '-e', 'REGION', 'example/x'] }),
      '.mcp.json',
    );

    expect(request.env_vars).toEqual({ PLACE: 'north' });
    expect(values).toEqual([]);
    expect(access).toEqual(['your environment variable REGION']);
    expect(passed.access).toEqual(['your environment variable REGION']);
  });

  test('that are not set are missing', async () => {
    const { values } = await desired(native('    env: {TOKEN: "${NOT_SET}"}\n'));

    expect(values).toMatchObject([
      { target: 'TOKEN', value: undefined, lacks: { variables: ['NOT_SET'], inputs: [] } },
    ]);
  });

  test('with the text of a placeholder are not read again', async () => {
    const { values } = await desired(native('    env: {TOKEN: "${GITHUB_TOKEN}"}\n'), undefined, {
      variables: { ...variables, GITHUB_TOKEN: '${AWS_SECRET_ACCESS_KEY}' },
    });

    expect(JSON.stringify(values)).not.toContain('CaNaRyAws');
  });
});

describe('answers', () => {
  const inputs = [{ id: 'pin', password: true }, { id: 'org' }, { id: 'place', default: 'here' }];

  test('with a password are secrets, and others are part of the settings', async () => {
    const entry = {
      command: 'npx',
      args: ['example', '${input:org}', '${input:place}'],
      env: { PIN: '${input:pin}' },
    };
    const { request, values } = await desired(client(entry, inputs), '.vscode/mcp.json', {
      inputs: { pin: 'hunter2', org: 'acme' },
    });

    expect(request.cmd_arguments).toEqual(['acme', 'here']);
    expect(values).toMatchObject([{ target: 'PIN', value: 'hunter2' }]);
    expect(JSON.stringify(request)).not.toContain('hunter2');
  });

  test('that are missing are named', async () => {
    const { values } = await desired(
      client({ ...npx, env: { A: '${input:org}', B: '${input:unknown}' } }, inputs),
      '.mcp.json',
    );

    expect(values.flatMap(({ lacks }) => lacks.inputs)).toEqual(['org', 'unknown']);
  });
});

describe('files and programs', () => {
  test('in the project are absolute paths, which the lock file does not contain', async () => {
    const { request, source, access } = await desired(
      native('    volumes: [./data:/data]\n', 'npx://./server'),
    );

    expect(request).toMatchObject({
      image: `npx://${directory}/server`,
      volumes: [`${directory}/data:/data`],
    });
    expect(source).toBe('npx://./server');
    expect(access).toEqual(['a program in the project: npx://./server']);
  });

  test.each(['../x:/x', '/etc/hostname:/x:ro', './link:/x', '~/notes:/x', './link/.ssh:/x'])(
    'a mount of %s outside is named',
    async (volume) => {
      const { access } = await desired(native(`    volumes: ["${volume}"]\n`));

      expect(access).toMatchObject([expect.stringContaining('files outside the project: ')]);
    },
  );

  test('in a profile are named, too', async () => {
    const { access } = await desired(native('    permissions: {read: ["/etc:/etc2"]}\n'));

    expect(access).toEqual(['files outside the project: /etc']);
  });

  test.each([
    'npx://../other',
    'uvx:///home/user',
    'mcpb://../x.mcpb',
    'npx://./link',
    'go://~/x',
    'npx:///',
  ])('a program at %s is refused', async (source) => {
    await expect(desired(native('', source))).rejects.toThrow('outside the project');
  });

  test('a path in an argument of a client is a mount only in the project', async () => {
    const inside = await desired(client({ command: 'npx', args: ['example', './data'] }), '.mcp.json');
    const outside = desired(client({ command: 'npx', args: ['example', '/etc'] }), '.mcp.json');

    expect(inside.request.volumes).toEqual([`${directory}/data:${directory}/data`]);
    await expect(outside).rejects.toThrow('outside the project');
  });

  test('a file with variables is not read', async () => {
    await expect(desired(client({ ...npx, envFile: '.env' }), '.vscode/mcp.json')).rejects.toThrow(
      'it names the file',
    );
  });
});

describe('credentials in the file', () => {
  test.each([
    '    env: {API_KEY: hunter2hunter2}\n',
    '    env: {ANY: ghp_abcdefghijklmnopqrstuvwxyz0123456789}\n',
    '    args: [--api-key, hunter2hunter2]\n',
    '    args: ["--password=hunter2hunter2"]\n',
  ])('are refused: %s', async (lines) => {
    const failure = await desired(native(lines)).catch((thrown: unknown) => String(thrown));

    expect(failure).toContain('as plain text');
    expect(failure).not.toMatch(/hunter2|ghp_/);
  });

  test('of a client move to the secrets, with a note', async () => {
    const { request, values, notes } = await desired(
      client({ ...npx, env: { API_KEY: 'hunter2hunter2' } }),
      '.mcp.json',
    );

    expect(JSON.stringify(request)).not.toContain('hunter2');
    expect(values).toMatchObject([{ target: 'API_KEY', value: 'hunter2hunter2' }]);
    expect(notes.join()).toContain('credentials as plain text');
    expect(notes.join()).not.toContain('hunter2');
  });
});

test('stored secrets are named', async () => {
  const { access } = await desired(native('    secrets: {TOKEN: github-token}\n'));

  expect(access).toEqual(['your stored secret github-token, as TOKEN']);
});

test('a name that looks like that of a value cannot take the place of a stored secret unseen', async () => {
  const { access } = await desired(native('    secrets: {TOKEN: "@TOKEN"}\n'));

  expect(access).toEqual(['your stored secret @TOKEN, as TOKEN']);
});
