import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readClientEntry } from './client-entry.ts';
import { isCommandLine, readCommandLine } from './launchers.ts';

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'thv-shell-'));
  await mkdir(join(directory, 'build'));
  await writeFile(join(directory, 'build/index.js'), '');
});
afterAll(() => rm(directory, { recursive: true }));

const from = () => ({ env: {}, directory, readFile: (path: string) => readFile(path, 'utf8') });
const readEntry = ([command = '', ...args]: string[], env: Record<string, string> = {}) =>
  readClientEntry({ name: 'one', workload: '', notes: [], entry: { command, args, env } }, from());

const nvm = 'export NVM_DIR="$HOME/.nvm"; [ -s "$NVM_DIR/nvm.sh" ] && . "$NVM_DIR/nvm.sh"; npx -y one';

describe('the command of a shell', () => {
  test.each<string[]>([
    ['bash', '--login', '-c'],
    ['bash', '-l', '-i', '-c'],
    ['bash', '-euo', 'pipefail', '-c'],
    ['bash', '--norc', '-ec'],
    ['bash', '--rcfile', '/dev/null', '-ic'],
    ['/bin/zsh', '-ilc'],
    ['/usr/bin/fish', '-l', '-c'],
    ['dash', '-c'],
    ['ksh', '-c'],
    ['powershell.exe', '-NoProfile', '-ExecutionPolicy', 'Bypass', '-Command'],
    ['powershell', '-nop', '-ep', 'bypass', '-c'],
    ['pwsh', '-NoLogo', '-NonInteractive', '-WindowStyle', 'Hidden', '-Command'],
  ])('is found behind its options: %s %s %s %s %s %s', async (...options) => {
    const words = [...options.filter((word) => typeof word === 'string'), 'npx -y one --flag "a b"'];

    expect(isCommandLine(words)).toBe(true);
    expect((await readCommandLine(words, from())).request).toMatchObject({
      image: 'npx://one',
      cmd_arguments: ['--flag', 'a b'],
    });
  });

  test.each([
    ['powershell -Command npx -y one'.split(' ')],
    [['powershell', '-Command', '& npx -y one']],
    [['powershell', '-Command', '& { npx -y one }']],
    [['pwsh', '-c', '& "npx" -y one 2>$null']],
    [['bash', '-c', 'npx -y one 2>/dev/null']],
    [['bash', '-c', 'npx -y one 2>> /tmp/one.log']],
    [['bash', '-c', 'npx -y one 2>&1']],
    [['bash', '-c', 'cd /tmp || exit 1; npx -y one || true']],
    [['bash', '-c', 'export PATH="/opt/homebrew/bin:$PATH" && npx -y one']],
    [['bash', '-c', 'cd /tmp\nnpx -y one\n']],
    [['bash', '-c', 'command=none; test -f .env && hash -r && npx -y one']],
    [['bash', '-c', nvm]],
  ])('starts the server after what only prepares it: %j', async (words) => {
    const { request } = await readCommandLine(words, from());

    expect(request).toMatchObject({ image: 'npx://one', cmd_arguments: [] });
    expect(request.env_vars).not.toHaveProperty('PATH');
  });

  test.each([
    [
      ['bash', '-c', 'npx one "a; b" \'c && d\''],
      ['a; b', 'c && d'],
    ],
    [
      ['bash', '-c', "npx one --url 'https://example.com/?a=1;b=2&&c'"],
      ['--url', 'https://example.com/?a=1;b=2&&c'],
    ],
    [
      ['bash', '-c', 'npx one "$@"', 'bash', '--flag', 'x y'],
      ['--flag', 'x y'],
    ],
    [['bash', '-c', 'exec npx one "$1"', '--', 'first', 'second'], ['first']],
    [['bash', '-c', 'npx one "$@"'], []],
  ])('keeps the words of the server: %j', async (words, args) => {
    expect((await readCommandLine(words, from())).request.cmd_arguments).toEqual(args);
  });

  test.each([
    [['bash', 'start.sh']],
    [['bash', '-l']],
    [['bash', '-l', 'start.sh', '-c', 'npx one']],
    [['powershell', '-File', 'start.ps1']],
    [['powershell', '-EncodedCommand', 'bnB4IG9uZQ==']],
    [['pwsh', '-Command']],
  ])('is not seen in %j', (words) => {
    expect(isCommandLine(words)).toBe(false);
  });

  test.each([
    [['bash', '-c', 'exec my-server --flag']],
    [['bash', '-c', 'export PATH="/opt/bin:$PATH"; exec my-server --flag']],
    [['sh', '-lc', 'my-server']],
  ])('with a program that ToolHive does not install is refused as one without a shell: %j', async (words) => {
    await expect(readCommandLine(words, from())).rejects.toMatchObject({
      kind: 'invalid',
      message: 'the program "my-server" cannot be run in isolation',
    });
  });

  test.each([
    [['bash', '-c', '(npx one)']],
    [['bash', '-c', '! npx one']],
    [['bash', '-c', 'npx one || npx two']],
    [['bash', '-c', 'npx one; npx two']],
    [['bash', '-c', 'if true; then npx one; fi']],
    [['bash', '-c', '[ -f x ] && npx one; npx two']],
    [['bash', '-c', 'npx', '-y', 'one']],
    [['bash', '-c', 'npx one &']],
    [['bash', '-c', 'npx one > /tmp/out']],
    [['powershell', '-Command', '& { npx one; npx two }']],
  ])('is refused with several programs: %j', async (words) => {
    await expect(readCommandLine(words, from())).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('more than one program'),
    });
  });

  test('knows the variables of its entry', async () => {
    const text = 'npx -y one --token $TOKEN --place "$ROOT/data" --mode=$MODE';
    const env = { TOKEN: `it's "secret"; text`, ROOT: '/srv' };

    const { request, needs } = await readEntry(['bash', '-c', `MODE=fast; ${text}`], env);

    expect(request.cmd_arguments).toEqual([
      '--token',
      `it's "secret"; text`,
      '--place',
      '/srv/data',
      '--mode=fast',
    ]);
    expect(needs).toEqual([]);
  });

  test('asks for a variable that nobody has set', async () => {
    const { request, needs } = await readEntry(['sh', '-c', 'npx -y one --token $SERVICE_TOKEN']);

    expect(request.cmd_arguments).toEqual(['--token', '${SERVICE_TOKEN}']);
    expect(needs).toMatchObject([{ kind: 'placeholder', name: 'SERVICE_TOKEN', secret: true }]);
  });

  test.each([
    [['bash', '-c', 'GITHUB_TOKEN=$(gh auth token) npx -y one']],
    [['env', 'GITHUB_TOKEN=$(gh auth token)', 'npx', '-y', 'one']],
    [['bash', '-c', 'export GITHUB_TOKEN=$(pass show github); npx -y one']],
  ])('asks for the value that another program prints: %j', async (words) => {
    const { request, needs } = await readEntry(words);

    expect(request.env_vars).toEqual({});
    expect(needs).toMatchObject([{ kind: 'variable', name: 'GITHUB_TOKEN' }]);
  });

  test('cannot pass the output of another program to the server', async () => {
    const words = ['bash', '-c', 'npx -y one --token "$(cat ~/.token)"'];

    await expect(readCommandLine(words, from())).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('the output of another program'),
      hint: expect.stringContaining('thv secret set'),
    });
  });

  test.each([
    ['spaces', ' '.repeat(500_000)],
    ['separators', ';'.repeat(500_000)],
    ['separators with spaces', ' && '.repeat(125_000)],
    ['redirections', ' 2>'.repeat(165_000)],
    ['variables', '$A'.repeat(250_000)],
    ['braces', '${'.repeat(250_000)],
    ['assignments', 'A='.repeat(250_000)],
    ['quotes', `"'`.repeat(250_000)],
  ])('is read or refused with many %s', { timeout: 60_000 }, async (_what, text) => {
    const read = readEntry(['bash', '-c', `npx one${text}x`]).catch((error: unknown) => error);

    // With steps that grow with the square of the length, this would take minutes.
    expect(await read).toBeDefined();
  });
});
