import { describe, expect, test } from 'vitest';
import { ThvError } from '@toolhive/contract/failure';
import type { Program } from './command.ts';
import { understand } from './program.ts';

const load = async () => ({ run: async () => {} });
const program: Program = {
  groups: [{ path: 'config', summary: 'Manage settings' }],
  commands: [
    {
      path: 'run',
      summary: 'Run a server',
      description: 'Runs a server.\n\nSOURCE is what to run.',
      arguments: [{ name: 'source', description: 'What to run', required: true }],
      takesRest: true,
      flags: [
        { name: 'env', shorthand: 'e', kind: 'list', value: 'NAME=VALUE', description: 'A variable' },
        { name: 'port', shorthand: 'p', kind: 'integer', description: 'The port', default: 0 },
        { name: 'rate', kind: 'number', description: 'How many of them', default: 0.1, section: 'Telemetry' },
        { name: 'scopes', kind: 'words', value: 'SCOPE', description: 'What for' },
        { name: 'timeout', kind: 'duration', value: 'TIME', description: 'How long', default: '30s' },
        { name: 'all', shorthand: 'a', kind: 'boolean', description: 'Every one' },
        { name: 'quiet', shorthand: 'q', kind: 'boolean', description: 'Say less' },
        { name: 'on', kind: 'boolean', description: 'Is on unless told otherwise', default: true },
        { name: 'mode', kind: 'string', choices: ['sse', 'stdio'], description: 'How', default: 'sse' },
        { name: 'group', kind: 'string', description: 'Of whom' },
        { name: 'patch', kind: 'string', description: 'For our own use', hidden: true },
      ],
      exclusive: [['all', 'group']],
      examples: ['thv run filesystem'],
      load,
    },
    { path: 'logs', summary: 'Show a log', arguments: [{ name: 'name', description: 'Whose' }], load },
    { path: 'logs prune', summary: 'Remove old logs', load },
    { path: 'config get', aliases: ['show'], summary: 'Print a setting', load },
    {
      path: 'config set',
      summary: 'Change a setting',
      arguments: [{ name: 'values', description: 'What to', required: true, variadic: true }],
      flags: [{ name: 'for', kind: 'string', description: 'Of whom', required: true }],
      load,
    },
    { path: 'secret', summary: 'Not shown', hidden: true, load },
  ],
};

describe('words lead to a command', () => {
  test.each([
    ['logs', 'logs', []],
    ['logs filesystem', 'logs', ['filesystem']],
    ['logs prune', 'logs prune', []],
    ['config get', 'config get', []],
    ['config show', 'config get', []],
    ['--debug config --debug show', 'config get', []],
    ['config set --for me one two', 'config set', ['one', 'two']],
    ['config set --for me -- --one', 'config set', ['--one']],
  ])('%s', async (line, path, words) => {
    const { command, arguments: given } = await call(line);

    expect([command.path, given]).toEqual([path, words]);
  });

  test('what stands behind -- is the server’s, word by word', async () => {
    const { arguments: given, rest, flags } = await call('run npx://x -p 1 -- --help -p 2 -- end');

    expect([given, rest, flags.number('port')]).toEqual([['npx://x'], ['--help', '-p', '2', '--', 'end'], 1]);
  });
});

describe('flags have the values that they were given', () => {
  test('before and after arguments, short and long, apart and together', async () => {
    const { flags } = await call('run -aq --env=A=1 x -e B=2 -eC=3 --port 9 --scopes one,two --scopes three');

    expect(flags.has('all') && flags.has('quiet')).toBe(true);
    expect(flags.list('env')).toEqual(['A=1', 'B=2', 'C=3']);
    expect(flags.list('scopes')).toEqual(['one', 'two', 'three']);
    expect([flags.number('port'), flags.isGiven('port'), flags.isGiven('mode')]).toEqual([9, true, false]);
  });

  test('or those that they have when they are not given', async () => {
    const { flags } = await call('run x');

    expect([flags.number('port'), flags.number('rate'), flags.milliseconds('timeout')]).toEqual([
      0, 0.1, 30_000,
    ]);
    expect([flags.text('mode'), flags.text('group'), flags.list('env'), flags.has('on')]).toEqual([
      'sse',
      undefined,
      [],
      true,
    ]);
  });

  test.each([
    ['--on=false', false],
    ['--on=F', false],
    ['--on=0', false],
    ['--on=true', true],
    ['--on=T', true],
    ['--on', true],
  ])('of two kinds, as in %s', async (flag, value) => {
    expect((await call(`run ${flag} x`)).flags.has('on')).toBe(value);
  });

  test.each([
    ['1m30s', 90_000],
    ['500ms', 500],
    ['1.5h', 5_400_000],
    ['0', 0],
  ])('of time, as in --timeout %s', async (text, ms) => {
    expect((await call(`run --timeout ${text} x`)).flags.milliseconds('timeout')).toBe(ms);
  });

  test('the last one counts where there can only be one', async () => {
    const { flags } = await call('run --mode sse --mode stdio x');

    expect(flags.text('mode')).toBe('stdio');
  });
});

test('mistakes are named, and what to do about them', async () => {
  const lines = [
    'rnu',
    'unheard-of',
    'config gte',
    'logs prnue other',
    'config get more',
    'run',
    'run x y',
    'run x --prot 1',
    'run x --unheard-of',
    'run x -z',
    'run x --patsh 1',
    'run x --port',
    'run x --port many',
    'run x --rate -1',
    'run x --timeout 30',
    'run x --mode other',
    'run x --on=perhaps',
    'run x --all --group g',
    'config set one',
    'config set --for',
    '--unheard-of',
    'config --all get',
  ];

  const mistakes = await Promise.all(
    lines.map(async (line) => {
      const thrown: unknown = await call(line).catch((error: unknown) => error);
      return thrown instanceof ThvError ? `${line}: ${thrown.message} [${thrown.hint ?? ''}]` : thrown;
    }),
  );

  expect(mistakes.join('\n')).toMatchInlineSnapshot(`
    "rnu: thv has no command "rnu" [did you mean run?]
    unheard-of: thv has no command "unheard-of" [run thv --help to see the commands]
    config gte: thv config has no command "gte" [did you mean get?]
    logs prnue other: unexpected argument "other" [run thv logs --help to see its usage]
    config get more: thv config get has no command "more" [run thv config get --help to see the commands]
    run: SOURCE is missing [run thv run --help to see its usage]
    run x y: unexpected argument "y" [run thv run --help to see its usage]
    run x --prot 1: thv run has no flag --prot [did you mean --port?]
    run x --unheard-of: thv run has no flag --unheard-of [run thv run --help to see its usage]
    run x -z: thv run has no flag -z [run thv run --help to see its usage]
    run x --patsh 1: thv run has no flag --patsh [run thv run --help to see its usage]
    run x --port: --port needs a value []
    run x --port many: --port takes a whole number, not "many" []
    run x --rate -1: --rate takes a number, not "-1" []
    run x --timeout 30: --timeout takes a duration such as 30s or 1m30s, not "30" []
    run x --mode other: --mode takes sse, stdio, not "other" []
    run x --on=perhaps: --on takes true or false, not "perhaps" []
    run x --all --group g: --all and --group cannot be used together []
    config set one: --for is missing []
    config set --for: --for needs a value []
    --unheard-of: unknown flag --unheard-of [run thv --help to see all commands]
    config --all get: unknown flag --all [run thv --help to see all commands]"
  `);
});

test('a value that may be a secret is not repeated', async () => {
  const secret = 'A'.repeat(33);

  await expect(call(`run x --port ${secret}`)).rejects.toThrow(/^--port takes a whole number$/);
});

describe('help', () => {
  test.each(['', 'help', '--help', '-h'])('of everything, for "%s"', async (line) => {
    expect(await help(line)).toBe(await help('--help'));
  });

  test('lists commands and groups', async () => {
    expect(await help('--help')).toMatchInlineSnapshot(`
      "Runs MCP servers in isolation, behind a proxy that supports every protocol version.

      Usage:
        thv COMMAND

      Commands:
        config  Manage settings
        logs    Show a log
        run     Run a server

      \`thv COMMAND --help\` shows more.
      "
    `);
  });

  test.each(['config', 'config --help', 'help config', 'config -h'])('of a group, for "%s"', async (line) => {
    expect(await help(line)).toMatchInlineSnapshot(`
      "Manage settings.

      Usage:
        thv config COMMAND

      Commands:
        get  Print a setting
        set  Change a setting

      \`thv config COMMAND --help\` shows more.
      "
    `);
  });

  test.each(['run --help', 'help run', 'run x -h --port many', 'run --help -- x'])(
    'of a command, for "%s"',
    async (line) => {
      expect(await help(line)).toMatchInlineSnapshot(`
        "Runs a server.

        SOURCE is what to run.

        Usage:
          thv run [flags] SOURCE [-- ARGUMENTS...]

        Arguments:
          source  What to run

        Flags:
          -e, --env NAME=VALUE  A variable (can be repeated)
          -p, --port VALUE      The port (default: 0)
              --scopes SCOPE    What for (can be repeated)
              --timeout TIME    How long (default: 30s)
          -a, --all             Every one
          -q, --quiet           Say less
              --on              Is on unless told otherwise (default: true)
              --mode VALUE      How (one of sse, stdio; default: sse)
              --group VALUE     Of whom
              --format FORMAT   The output format (one of text, json; default: text)
              --debug           Show requests to the daemon and causes of failures on standard error

        Telemetry:
              --rate VALUE  How many of them (default: 0.1)

        Examples:
          $ thv run filesystem
        "
      `);
    },
  );

  test('of a command with others below it', async () => {
    expect(await help('logs --help')).toMatchInlineSnapshot(`
      "Show a log.

      Usage:
        thv logs [flags] [NAME]
        thv logs COMMAND

      Arguments:
        name  Whose

      Commands:
        prune  Remove old logs

      Flags:
            --format FORMAT  The output format (one of text, json; default: text)
            --debug          Show requests to the daemon and causes of failures on standard error
      "
    `);
  });
});

async function understood(line: string) {
  return understand(program, line === '' ? [] : line.split(' '));
}

async function call(line: string) {
  const found = await understood(line);
  if ('help' in found) throw new Error(`help was understood: ${line}`);
  return found;
}

async function help(line: string): Promise<string> {
  const found = await understood(line);
  if (!('help' in found)) throw new Error(`a command was understood: ${line}`);
  return found.help;
}
