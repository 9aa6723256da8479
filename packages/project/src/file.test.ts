import { ThvError } from '@toolhive/contract/failure';
import { describe, expect, test } from 'vitest';
import { directoryOf, parseFile } from './file.ts';

const path = '/home/ada/my project/toolhive.yaml';

function refusal(text: string, file = path): string {
  try {
    parseFile(text, file);
  } catch (thrown) {
    if (!(thrown instanceof ThvError)) throw thrown;
    return `${thrown.message} | ${thrown.hint}`;
  }
  return 'accepted';
}

const withServer = (lines: string): string =>
  `version: 1\nservers:\n  time:\n    source: uvx://mcp-server-time\n${lines}`;

test('a project is named after its directory', () => {
  expect(parseFile(withServer(''), path)).toMatchObject({
    name: 'my-project',
    servers: [{ name: 'time', form: 'project' }],
  });
  expect(parseFile(`name: mine\n${withServer('')}`, path).name).toBe('mine');
});

test('the files of editors belong to the directory around them', () => {
  expect(directoryOf('/home/ada/x/.vscode/mcp.json')).toBe('/home/ada/x');
  expect(directoryOf('/home/ada/x/.mcp.json')).toBe('/home/ada/x');
});

test('comments, order, and formatting do not change the settings of a server', () => {
  const one = parseFile('version: 1\nservers:\n  time:\n    source: uvx://x # mine\n    args: [a]\n', path);
  const other = parseFile('{"servers": {"time": {"args": ["a"], "source": "uvx://x"}}, "version": 1}', path);

  expect(one.servers[0]?.settings).toBe(other.servers[0]?.settings);
});

describe('the files of clients', () => {
  test.each([
    ['.mcp.json', '{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}'],
    [
      '.vscode/mcp.json',
      '// mine\n{"inputs": [{"id": "key", "type": "promptString", "password": true}], "servers": {"time": {"command": "uvx", "args": ["mcp-server-time"],},}}',
    ],
    ['mcp.json', '{"servers": {"time": {"type": "http", "url": "https://mcp.example.com"}}}'],
    ['opencode.json', '{"mcp": {"time": {"type": "local", "command": ["uvx", "mcp-server-time"]}}}'],
  ])('%s is a project file', (name, text) => {
    const { servers, name: project } = parseFile(text, `/home/ada/app/${name}`);

    expect(servers).toMatchObject([{ name: 'time', form: 'client' }]);
    expect(project).toBe('app');
  });

  test('a name that is used twice is refused', () => {
    const text =
      '{"mcpServers": {"a": {"command": "npx", "args": ["x"]}, "a": {"command": "npx", "args": ["y"]}}}';

    expect(refusal(text, '/x/.mcp.json')).toContain('two servers with the name "a"');
  });
});

describe('a hostile or wrong file is refused', () => {
  const bomb = `version: 1\na: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nservers: {}\n`;
  test.each<[string, string, string]>([
    ['empty', '', 'toolhive.yaml is empty'],
    ['no mapping', '- a\n', 'toolhive.yaml'],
    ['no version', 'servers: {}\n', 'version: missing'],
    ['another version', 'version: 2\nservers: {}\n', '(line 1)'],
    ['a broken line', 'version: 1\nservers: {\n', 'is not YAML'],
    ['several documents', `${withServer('')}---\nversion: 1\n`, 'several YAML documents'],
    ['a bomb of aliases', bomb, 'uses an anchor (line 2)'],
    ['an alias', 'version: 1\nservers:\n  a: &x {source: y}\n  b: *x\n', 'uses an anchor (line 3)'],
    ['a merge key', withServer('    <<: {env: {A: b}}\n'), 'uses the key << (line 5)'],
    [
      'a repeated server',
      `${withServer('')}  time:\n    source: npx://evil\n`,
      'Map keys must be unique (line 5)',
    ],
    ['a repeated key', withServer('    source: npx://evil\n'), 'Map keys must be unique'],
    [
      'a repeated key as a number',
      withServer('    env: {1: a, "1": b}\n'),
      'Map keys must be unique (line 5)',
    ],
    ['__proto__', 'version: 1\nservers:\n  __proto__: {source: x}\n', 'uses the key __proto__ (line 3)'],
    ['constructor', withServer('    constructor: {}\n'), 'uses the key constructor'],
    ['a tag of a language', withServer('    args: !!js/function "x"\n'), 'uses a tag (line 5)'],
    ['a key that is a list', 'version: 1\n? [a]\n: b\nservers: {}\n', 'a key that is not text'],
    ['a name with a path', 'version: 1\nservers:\n  ../../etc: {source: x}\n', 'servers.../../etc'],
    ['a name with control characters', 'version: 1\nservers:\n  "a\\e[2J": {source: x}\n', '(line 3)'],
    [
      'a name of 300 characters',
      `version: 1\nservers:\n  ${'a'.repeat(300)}: {source: x}\n`,
      'at most 100 characters',
    ],
    ['a huge file', `version: 1\n# ${'x'.repeat(600_000)}\nservers: {}\n`, 'more than 500000 characters'],
    ['a NUL in an argument', withServer('    args: ["a\\0b"]\n'), 'NUL character (line 5)'],
    ['a field for other machines', withServer('    host: 0.0.0.0\n'), 'unknown key "host" (line 5)'],
    ['accepted risks', withServer('    accepted_risks: [mount-home]\n'), 'unknown key "accepted_risks"'],
    ['the word of a client', withServer('    command: npx\n'), 'did you mean source?'],
    ['a misspelled key', withServer('    secret: {A: b}\n'), 'did you mean secrets?'],
    ['a misspelled synonym', withServer('    enviroment: {A: b}\n'), 'did you mean env?'],
    ['a misspelled key at the top', 'version: 1\nserver: {}\n', 'did you mean servers?'],
    ['a list of servers', 'version: 1\nservers: [a]\n', 'servers'],
    ['an unknown profile', withServer('    permissions: everything\n'), 'servers.time.permissions'],
    [
      'an unknown member of a profile',
      withServer('    permissions: {privilegd: true}\n'),
      'servers.time.permissions',
    ],
    ['a number as a variable', withServer('    env: {A: 1}\n'), 'servers.time.env.A'],
    ['an environment variable with a space', withServer('    env: {"A B": x}\n'), 'servers.time.env'],
  ])('%s', (_what, text, message) => {
    expect(refusal(text)).toContain(message);
  });

  test('deep nesting', () => {
    expect(refusal(`version: 1\nservers: ${'['.repeat(5000)}`)).toContain('toolhive.yaml');
    expect(refusal(`{"mcpServers": ${'{"a":'.repeat(5000)}1${'}'.repeat(5001)}`, '/x/.mcp.json')).toContain(
      'nested too deeply',
    );
  });
});

test.each([
  ['keys', `version: 1\nservers:\n${Array.from({ length: 40_000 }, (_, at) => `  a${at}: 1\n`).join('')}`],
  ['characters in a key', `version: 1\nservers: {}\n${'x'.repeat(480_000)}: 1\n`],
])('a file with very many %s is read in time', { timeout: 60_000 }, (_what, text) => {
  const refused = Array.from({ length: 5 }, () => refusal(text));

  expect(new Set(refused).size).toBe(1);
});

test('a file of the largest size that contains only mistakes is refused in a moment', () => {
  const text = `version: 1\n${'] '.repeat(240_000)}`;

  expect(refusal(text)).toContain('toolhive.yaml is not YAML: Unexpected flow-seq-end token');
});
