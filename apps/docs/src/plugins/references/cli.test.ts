import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { flagsOf, isShown } from '@toolhive/cli/command';
import type { Program } from '@toolhive/cli/command';
import { program } from '@toolhive/cli/commands';
import { cliPages } from './cli.ts';

const folder = 'apps/docs/docs/toolhive/reference/cli';
const pages = cliPages(program);
const shown = program.commands.filter(({ hidden }) => hidden !== true);

test.each(shown.map((command) => ({ path: command.path, command })))(
  'the page of thv $path shows all of its flags, arguments and examples',
  ({ path, command }) => {
    const page = pages[`${folder}/thv_${path.replaceAll(' ', '_')}.md`];

    expect(page).toContain(`title: "thv ${path}"`);
    for (const flag of flagsOf(command)) {
      const { name, shorthand } = flag;
      const label = shorthand === undefined ? `| \`--${name}\` |` : `| \`--${name}\`, \`-${shorthand}\` |`;
      expect(page?.includes(label)).toBe(isShown(flag));
    }
    for (const { name } of command.arguments ?? []) expect(page).toContain(name.toUpperCase());
    for (const example of command.examples ?? []) expect(page).toContain(`\n${example}\n`);
  },
);

test('there is a page at every route of a command', async () => {
  const routes = await readFile(new URL('../../../test/routes.txt', import.meta.url), 'utf8');
  const names = routes.split('\n').flatMap((route) => /\/cli\/(.+)$/.exec(route)?.[1] ?? []);

  expect(names.length).toBeGreaterThan(75);
  expect(names.filter((name) => !(`${folder}/${name}.md` in pages))).toEqual([]);
});

test('what is hidden has no page', () => {
  const hidden = program.commands.filter((command) => command.hidden === true).map(({ path }) => path);

  expect(hidden.length).toBeGreaterThan(0);
  expect(Object.keys(pages).filter((page) => hidden.some((path) => page.includes(path)))).toEqual([]);
});

test('a page says nothing that MDX would take for code, and keeps tables whole', () => {
  const odd: Program = {
    groups: [],
    commands: [
      {
        path: 'odd',
        aliases: ['strange'],
        summary: 'Do {odd} <things>',
        flags: [
          {
            name: 'which',
            shorthand: 'w',
            kind: 'words',
            description: 'One | the other, with `a|b`\nand a line',
            choices: ['a', 'b'],
            default: ['a', 'b'],
            section: 'Odd things',
          },
          { name: 'other', kind: 'boolean', description: 'Something' },
        ],
        exclusive: [['which', 'other']],
        examples: ['thv odd'],
        load: async () => ({ run: async () => {} }),
      },
    ],
  };

  expect(cliPages(odd)[`${folder}/thv_odd.md`]).toMatchInlineSnapshot(`
    "---
    title: "thv odd"
    description: "Do {odd} <things>."
    custom_edit_url: null
    ---

    Do \\{odd\\} \\<things\\>.

    ## Usage

    \`\`\`text
    thv odd [flags]
    \`\`\`

    You can also type \`thv strange\`.

    ## Examples

    \`\`\`bash
    thv odd
    \`\`\`

    ## Flags

    <div className="reference-table" role="group" aria-label="Flags" tabIndex="0">

    | Flag | Value | Default | Description |
    | --- | --- | --- | --- |
    | \`--other\` | on or off | \`false\` | Something |
    | \`--format\` | \`FORMAT\`: text | \`text\` | The output format. One of \`text\`, \`json\` |

    </div>

    ### Odd things

    <div className="reference-table" role="group" aria-label="Odd things" tabIndex="0">

    | Flag | Value | Default | Description |
    | --- | --- | --- | --- |
    | \`--which\`, \`-w\` | \`VALUE\`: words with commas, repeatable | \`a\`, \`b\` | One \\| the other, with \`a\\|b\` and a line. One of \`a\`, \`b\` |

    </div>

    Use only one of \`--which\` and \`--other\`.

    ## Flags of every command

    <div className="reference-table" role="group" aria-label="Flags of every command" tabIndex="0">

    | Flag | Description |
    | --- | --- |
    | \`--debug\` | Show requests to the daemon and causes of failures on standard error |
    | \`--help\`, \`-h\` | Show help |

    </div>

    ## See also

    - [thv](./thv.md)

    "
  `);
});
