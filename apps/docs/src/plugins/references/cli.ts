import { globalFlags, ownFlagsOf } from '@toolhive/cli/command';
import type { Command, Flag, FlagKind, Program } from '@toolhive/cli/command';
import {
  about,
  asSentence,
  childrenOf,
  flagSectionsOf,
  formatRemark,
  placeOf,
  usageOf,
} from '@toolhive/cli/help';
import { parentOf } from '@toolhive/cli/program';
import { code, frontMatter, table, textOf } from './markdown.ts';
import { settingsSection } from './settings.ts';

/** The directory of command pages, from the root of the repository. */
const folder = 'apps/docs/docs/toolhive/reference/cli';

/** The pages of all visible commands and command groups, by their path in the repository. */
export function cliPages(program: Program): Record<string, string> {
  return Object.fromEntries(
    pathsOf(program).map((path) => [`${folder}/${fileOf(path)}.md`, page(program, path)]),
  );
}

/** All commands and groups with a page. The program itself comes first, as an empty path. */
function pathsOf(program: Program): string[] {
  const below = (path: string): string[] =>
    childrenOf(program, path).flatMap((child) => [child.path, ...below(child.path)]);
  return ['', ...below('')];
}

/** The name of the page of a command: `thv_config_otel_get-endpoint`. */
function fileOf(path: string): string {
  return nameOf(path).replaceAll(' ', '_');
}

function page(program: Program, path: string): string {
  const command = program.commands.find((candidate) => candidate.path === path);
  const group = program.groups.find((candidate) => candidate.path === path);
  const summary = command?.summary ?? group?.summary ?? 'All commands of ToolHive';
  return [
    frontMatter(nameOf(path), asSentence(summary)),
    textOf(asSentence(command?.description ?? (path === '' ? about : summary))),
    '## Usage',
    `\`\`\`text\n${usageOf(program, path).join('\n')}\n\`\`\``,
    ...(command === undefined ? [] : commandSections(command)),
    ...childSection(program, path),
    ...(path === 'config' ? settingsSection() : []),
    ...everyCommand,
    ...seeAlso(program, path),
    '',
  ].join('\n\n');
}

function commandSections(command: Command): string[] {
  const { arguments: declared = [], aliases = [], examples = [], unformatted } = command;
  const parent = nameOf(parentOf(command.path));
  return [
    ...(aliases.length === 0
      ? []
      : [`You can also type ${aliases.map((name) => code(`${parent} ${name}`)).join(' or ')}.`]),
    ...(examples.length === 0 ? [] : ['## Examples', `\`\`\`bash\n${examples.join('\n')}\n\`\`\``]),
    ...(declared.length === 0
      ? []
      : [
          '## Arguments',
          table(
            'Arguments',
            ['Argument', 'Description'],
            declared.map((argument) => [
              code(placeOf(argument)),
              textOf(argument.description) + choicesOf(argument.choices),
            ]),
          ),
        ]),
    ...flagSectionsOf(ownFlagsOf(command)).flatMap(([title, members], index) => [
      ...(index === 0 ? ['## Flags'] : []),
      ...(title === 'Flags' ? [] : [`### ${textOf(title)}`]),
      flagTable(title, members),
    ]),
    ...(unformatted === undefined ? [] : [textOf(formatRemark(unformatted))]),
    ...(command.exclusive ?? []).map(
      (names) => `Use only one of ${names.map((name) => code(`--${name}`)).join(' and ')}.`,
    ),
  ];
}

function flagTable(label: string, flags: readonly Flag[]): string {
  return table(
    label,
    ['Flag', 'Value', 'Default', 'Description'],
    flags.map((flag) => [
      [`--${flag.name}`, ...(flag.shorthand === undefined ? [] : [`-${flag.shorthand}`])]
        .map(code)
        .join(', '),
      `${flag.kind === 'boolean' ? '' : `${code(flag.value ?? 'VALUE')}: `}${kinds[flag.kind]}`,
      flag.required === true ? 'required' : defaultOf(flag),
      textOf(flag.description) + choicesOf(flag.choices),
    ]),
  );
}

/** The value of each kind of flag. */
const kinds: Record<FlagKind, string> = {
  boolean: 'on or off',
  string: 'text',
  integer: 'whole number',
  number: 'number',
  duration: 'duration',
  list: 'text, repeatable',
  words: 'words with commas, repeatable',
};

function defaultOf({ kind, default: preset = kind === 'boolean' ? false : undefined }: Flag): string {
  const values = preset === undefined ? [] : [preset].flat();
  return values.length === 0 || preset === '' ? '' : values.map((value) => code(String(value))).join(', ');
}

function choicesOf(choices: readonly string[] | undefined): string {
  return choices === undefined ? '' : `. One of ${choices.map(code).join(', ')}`;
}

function childSection(program: Program, path: string): string[] {
  const children = childrenOf(program, path);
  if (children.length === 0) return [];
  const rows = children.map((child) => [linkTo(child.path), textOf(child.summary)]);
  return ['## Commands', table('Commands', ['Command', 'Description'], rows)];
}

/** The flags that every command accepts. */
const everyCommand = [
  '## Flags of every command',
  table(
    'Flags of every command',
    ['Flag', 'Description'],
    [
      ...globalFlags.map((flag) => [code(`--${flag.name}`), textOf(flag.description)]),
      [`${code('--help')}, ${code('-h')}`, 'Show help'],
    ],
  ),
];

function seeAlso(program: Program, path: string): string[] {
  const links =
    path === ''
      ? ['[Run MCP servers](../../guides-cli/run-mcp-servers.mdx)', '[API reference](../api.mdx)']
      : [parentOf(path), ...siblingsOf(program, path)].map(linkTo);
  return ['## See also', links.map((link) => `- ${link}`).join('\n')];
}

/** A family with more commands than this has its own page. */
const fewSiblings = 8;

/**
 * The related commands. In a large family, only those with the same object, such as `get-endpoint` and `set-endpoint`.
 */
function siblingsOf(program: Program, path: string): string[] {
  const parent = parentOf(path);
  if (parent === '') return [];
  const siblings = childrenOf(program, parent).flatMap((sibling) =>
    sibling.path === path ? [] : sibling.path,
  );
  const about = (sibling: string): string => sibling.replace(/.* [a-z]+-?/, '');
  return siblings.length <= fewSiblings
    ? siblings
    : siblings.filter((sibling) => about(sibling) === about(path));
}

const linkTo = (path: string): string => `[${nameOf(path)}](./${fileOf(path)}.md)`;
const nameOf = (path: string): string => ['thv', path].filter(Boolean).join(' ');
