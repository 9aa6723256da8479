import { clientApplications } from '@toolhive/contract/client-application';
import type { ClientApplication, ClientGuide } from '@toolhive/contract/client-application';
import { changeEntries, fileWithOnly } from '@toolhive/clients/entry-file';
import type { EntryValue } from '@toolhive/clients/entry';
import { code, table } from './markdown.ts';
import { filesOf } from './clients.ts';

/** The server that each page adopts. */
const example = {
  name: 'everything',
  command: 'npx',
  args: ['-y', '@modelcontextprotocol/server-everything@2026.8.31'],
  env: { DEMO_API_KEY: 'sk-demo-1234567890' },
} as const;

/** Begins a part that another page has, too, so that the search index does not repeat it. */
const unsearched = '<div data-unsearched>';

type Guided = ClientApplication & { guide: ClientGuide };

const guided = clientApplications.filter(
  (application): application is Guided => application.guide !== undefined,
);

/** The IDs of the clients with a page, by name. */
export const guidedClients: readonly string[] = guided
  .toSorted((one, other) => one.guide.name.localeCompare(other.guide.name))
  .map(({ id }) => id);

/** A page for each client that has a guide, by its file name. */
export function clientGuides(): Record<string, string> {
  return Object.fromEntries(guided.map((application) => [`${application.id}.mdx`, pageOf(application)]));
}

function pageOf(application: Guided): string {
  const { id, format, config, guide } = application;
  const { name } = guide;
  const path = config.linux;
  const before = changeEntries(
    { path, text: '' },
    application,
    new Map([[example.name, entryOf(application)]]),
  );
  const after = fileWithOnly(application, {
    name: example.name,
    url: 'http://localhost:18347/mcp',
    transport: 'streamable-http',
  });
  const file = path.slice(path.lastIndexOf('/') + 1);
  const folder = path.slice(0, path.length - file.length);
  return `${[
    `---
title: ${JSON.stringify(name)}
description: ${JSON.stringify(`Move the MCP servers of ${name} to ToolHive, and back.`)}
keywords: ${JSON.stringify([name, id, file, 'adopt', 'migrate'])}
custom_edit_url: null
---`,
    `One command moves the MCP servers of ${name} behind ToolHive, and another command restores every byte of its file.`,
    '## Move your servers',
    unsearched,
    `For example, ${code(`~/${path}`)} contains a server with an API key:`,
    fence(format, before, `title="${file}" file`),
    ...(folder === '' ? [] : [`{/* run: mkdir -p ~/${folder} && mv ${file} ~/${path} */}`]),
    `{/* run: cp ~/${path} ~/original */}`,
    fence('bash', `thv adopt ${id} --yes`, 'run'),
    fence('text', `…\nadopted ${example.name}, used by ${id}\n…`, 'title="Output"'),
    'The server now runs in isolation, and its key is in the [secrets](../guides-cli/secrets-management.mdx):',
    ...shown(application, after),
    '</div>',
    [guide.apply, guide.note, guide.projectNote].filter(Boolean).join(' '),
    unsearched,
    '## Restore the file',
    fence('bash', `thv adopt --undo ${id} --yes`, 'run'),
    `{/* run: cmp ~/${path} ~/original */}`,
    '## Configuration files',
    table(`The files of ${name}`, ['Place', 'File'], factsOf(application)),
    '</div>',
    `## Next steps

- [See the plan before any change](../guides-cli/adopt-servers.mdx)
- [Look up other clients](../reference/client-compatibility.mdx)`,
  ].join('\n\n')}\n`;
}

/** The file after the adoption. An entry that starts a command has the path of the program in it. */
function shown({ format, config, urlKeys }: Guided, text: string): string[] {
  if (urlKeys['streamable-http'] === undefined) return [fence(format, text)];
  return [fence('bash', `cat ~/${config.linux}`, 'run'), fence(format, text, 'title="Output"')];
}

/** The entry before, as users write it. */
function entryOf({ types, typeKey, hasCommandList, extra }: ClientApplication): EntryValue {
  const { command, args, env } = example;
  const type = types?.stdio === undefined ? {} : { [typeKey]: types.stdio };
  return hasCommandList
    ? { ...type, command: [command, ...args], environment: env, ...extra }
    : { ...type, command, args, env, ...extra };
}

function factsOf({ config, moves, projectFiles, projects, otherFile }: Guided): string[][] {
  return [
    ...filesOf(config),
    ...(otherFile === undefined ? [] : [['If only that file exists', code(otherFile)]]),
    ...moves.map(({ variable }) => ['Moved by the environment variable', code(variable)]),
    ...[...new Set(projectFiles.map((one) => one.file))].map((one) => ['In a project', code(one)]),
    ...(projects === undefined
      ? []
      : [
          [
            'For one project, without sharing',
            `${code(`~/${config.linux}`)}, section ${code(projects.join('.'))}`,
          ],
        ]),
  ];
}

function fence(language: string, text: string, marks = ''): string {
  return `\`\`\`${[language, marks].filter(Boolean).join(' ')}\n${text.trimEnd()}\n\`\`\``;
}
