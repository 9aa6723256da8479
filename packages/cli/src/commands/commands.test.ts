import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import original from '../../compatibility/cli-v0.4.2.json' with { type: 'json' };
import { proves } from '@toolhive/testing/promises';
import { flagsOf, namesOf } from '../command.ts';
import type { Command, Flag, FlagKind } from '../command.ts';
import { understand } from '../program.ts';
import { program } from './commands.ts';
import { programFor, topics } from './topics.ts';

/**
 * Compares our commands with those of the original: so its users find every command, argument and flag of it
 * here, with the same shorthand, kind and default. More is fine, less is not.
 */

/** What is different on purpose, and why. */
const different: Readonly<Record<string, string>> = {
  'run --proxy-mode': 'every client supports streamable HTTP, which the protocol recommends',
  'run --remote-auth-callback-port':
    'any free port, because another program cannot have taken that one (decision 16)',
  'run --remote-auth-timeout': 'users need more than 30 seconds to find and type a password',
  'proxy --remote-auth-timeout': 'users need more than 30 seconds to find and type a password',
  'proxy --remote-auth-callback-port':
    'any free port, because another program cannot have taken that one (decision 16)',
  'version --json': 'not shown: --format json says the same',
  'mcp serve --port': 'a port is a number',
  'serve --experimental-mcp-port': 'a port is a number',
};

/** Commands that take several names where the original takes one. */
const takesMore = ['restart', 'export'];

type Original = (typeof original.commands)[number];
type OriginalFlag = Original['flags'][number];

const kinds: Record<string, FlagKind> = {
  bool: 'boolean',
  string: 'string',
  stringArray: 'list',
  strings: 'words',
  int: 'integer',
  float: 'number',
  duration: 'duration',
};

const pairs = original.commands.map((theirs) => ({
  path: theirs.path,
  theirs,
  ours: program.commands.find(({ path }) => path === theirs.path),
}));
const both = pairs.flatMap(({ theirs, ours }) =>
  ours === undefined || !theirs.runnable ? [] : { theirs, ours },
);
const flagPairs = both.flatMap(({ theirs, ours }) =>
  theirs.flags.map((flag) => ({
    name: `${ours.path} --${flag.name}`,
    flag,
    own: flagsOf(ours).find(({ name }) => name === flag.name),
  })),
);

describe('compared with the original', () => {
  test.each(pairs.filter(({ theirs }) => theirs.runnable))(
    'thv $path exists with its arguments, aliases, and rules about flags',
    ({ theirs, ours }) => {
      proves('cli.commands');
      const found = ours && {
        arguments: (ours.arguments ?? []).length,
        isVariadic: ours.arguments?.at(-1)?.variadic === true,
        takesRest: ours.takesRest === true,
        aliases: ours.aliases ?? [],
        required: flagsOf(ours).flatMap(({ name, required }) => (required === true ? name : [])),
      };

      const { isVariadic, ...rest } = argumentsOf(theirs);
      expect(found).toEqual({
        ...rest,
        isVariadic: isVariadic || takesMore.includes(theirs.path),
        aliases: theirs.aliases,
        required: theirs.required,
      });
      for (const names of theirs.exclusive) expect(ours?.exclusive).toContainEqual(names);
    },
  );

  test.each(pairs.filter(({ theirs }) => !theirs.runnable))('thv $path leads to its commands', ({ path }) => {
    const isThere = program.commands.some((command) => command.path.startsWith(`${path} `));

    expect(program.groups.some((group) => group.path === path)).toBe(isThere);
  });

  test.each(flagPairs.filter(({ name }) => !(name in different)))('$name is what it was', ({ flag, own }) => {
    proves('cli.flags');
    expect(own && factsOf(own)).toEqual(factsOfOriginal(flag));
  });

  test.each(flagPairs.filter(({ name }) => name in different))('$name is different', ({ flag, own }) => {
    expect(own).toBeDefined();
    expect(own && factsOf(own)).not.toEqual(factsOfOriginal(flag));
  });
});

/** Which commands print nothing that a program may want as JSON. */
const unformatted = ['__complete', 'completion', 'export', 'proxy stdio'];

describe('every command', () => {
  test('prints its result as JSON when asked to, or says why it does not', () => {
    const formats = program.commands.map((command) => {
      const flag = flagsOf(command).find(({ name }) => name === 'format');
      const isJson = flag?.choices?.includes('json') === true && flag.default === 'text';
      return { path: command.path, isJson, isUnformatted: command.unformatted !== undefined };
    });

    expect(formats.filter(({ isJson, isUnformatted }) => isJson === isUnformatted)).toEqual([]);
    expect(formats.flatMap(({ path, isUnformatted }) => (isUnformatted ? path : [])).toSorted()).toEqual(
      unformatted,
    );
  });

  test('that prints no JSON is listed in the guide, if people use it', async () => {
    const guide = await readFile(
      new URL('../../../../apps/docs/docs/toolhive/guides-cli/index.mdx', import.meta.url),
      'utf8',
    );
    const shown = program.commands.filter(
      (command) => command.unformatted !== undefined && command.hidden !== true,
    );
    const paths = shown.map(({ path }) => `\`${path}\``).toSorted();

    expect(guide).toContain(`${paths.slice(0, -1).join(', ')} and ${paths.at(-1)} have no such output`);
  });

  test.each(program.commands.map((command) => ({ path: command.path, command })))(
    'thv $path can be told from the others, and loads what carries it out',
    async ({ command }) => {
      const { run } = await command.load();

      expect(typeof run).toBe('function');
      expect(repeated(program.commands.map(({ path }) => path))).toEqual([]);
      expect(repeated(flagsOf(command).map(({ name }) => name))).toEqual([]);
      expect(repeated(flagsOf(command).flatMap(({ shorthand }) => shorthand ?? []))).toEqual([]);
      expect(
        exclusiveOf(command).filter((name) => !flagsOf(command).some((flag) => flag.name === name)),
      ).toEqual([]);
    },
  );

  test.each(
    program.commands
      .filter(({ hidden }) => hidden !== true)
      .map((command) => ({ path: command.path, command })),
  )('thv $path has examples of itself in its help', ({ path, command }) => {
    const examples = command.examples ?? [];

    expect(examples.length).toBeGreaterThan(0);
    expect(examples.filter((line) => !line.includes(`thv ${path}`))).toEqual([]);
  });
});

function argumentsOf({ positional }: Original) {
  const words = positional
    .replace('[-- ARGS...]', '')
    .split(/(?<=[\]>])\s+|\s+(?=[A-Z])/)
    .filter((word) => word.trim() !== '');
  return {
    arguments: words.length,
    isVariadic: words.at(-1)?.includes('...]') === true,
    takesRest: positional.includes('-- ARGS'),
  };
}

function factsOf({ shorthand, kind, default: preset, hidden }: Flag) {
  return {
    shorthand: shorthand ?? null,
    kind,
    preset: isNothing(preset) ? null : preset,
    hidden: hidden === true,
  };
}

function factsOfOriginal(flag: OriginalFlag) {
  const { shorthand, type, default: preset } = flag;
  const hidden = 'hidden' in flag;
  return { shorthand, kind: kinds[type], preset: isNothing(preset) ? null : preset, hidden };
}

/** What the original writes for "not given". */
function isNothing(preset: unknown): boolean {
  return (
    preset === undefined ||
    preset === '' ||
    preset === false ||
    (Array.isArray(preset) && preset.length === 0)
  );
}

function repeated(words: readonly string[]): string[] {
  return words.filter((word, index) => words.indexOf(word) !== index);
}

function exclusiveOf({ exclusive = [] }: Command): string[] {
  return exclusive.flat();
}

describe('a command line', () => {
  const firstWords = ({ path, ...command }: Command): readonly string[] =>
    path.includes(' ') ? path.split(' ').slice(0, 1) : namesOf({ path, ...command });

  test('loads the commands with its first word, and all topics together are the program', async () => {
    const loaded = await Promise.all(
      topics.map(async ({ words, load }) => ({ words, commands: await load() })),
    );

    for (const { words, commands } of loaded)
      expect([...words]).toEqual([...new Set(commands.flatMap(firstWords))].toSorted());
    expect(loaded.flatMap(({ commands }) => commands)).toEqual(program.commands);
  });

  test.each([
    [['version'], 'version'],
    [['--debug', 'ls'], 'list'],
    [['config', 'otel', 'set-endpoint', 'x'], 'config otel set-endpoint'],
  ])('%s needs only a part of the program', async (words, path) => {
    const { commands } = await programFor(words);

    expect(commands.map((command) => command.path)).toContain(path);
    expect(commands.length).toBeLessThan(program.commands.length / 2);
  });

  test.each([[[]], [['--help']], [['help', 'run']], [['lst']]])(
    '%s needs the whole program',
    async (words) => {
      expect(await programFor(words)).toBe(program);
    },
  );
});

test.each([
  ['run notion https://mcp.example/mcp', 'for a remote server, use thv run URL --name notion'],
  ['run notion other', 'run thv run --help to see its usage'],
])('an argument too many is explained: %s', async (line, hint) => {
  await expect(understand(program, line.split(' '))).rejects.toMatchObject({ hint });
});

test('a command for another machine is passed on as a whole', async () => {
  const words = ['ssh', '-t', 'me@host', 'npx', 'one'];

  await expect(understand(program, ['run', ...words])).resolves.toMatchObject({ rest: words });
});
