import { clientApplications } from '@toolhive/contract/client-application';
import type { ClientApplication, SystemPaths } from '@toolhive/contract/client-application';
import { fileWithOnly } from '@toolhive/clients/entry-file';
import { code, heading, table, textOf } from './markdown.ts';

/** An example workload in a client's configuration file. */
const example = {
  name: 'fetch',
  url: 'http://127.0.0.1:18347/mcp',
  transport: 'streamable-http',
} as const;

/** Returns the reference of all clients, to be included in a page. */
export function clientReference(): string {
  const overview = table(
    'Applications that are configured for you',
    ['Application', 'Its name in commands', 'Speaks streamable HTTP since'],
    clientApplications.map(({ id, product, since }) => [
      `[${textOf(product)}](#${id})`,
      code(id),
      since === undefined ? '' : textOf(since),
    ]),
  );
  return `${[heading(2, 'Configured for you', 'configured-for-you'), overview, ...clientApplications.flatMap(sectionOf)].join('\n\n')}\n`;
}

function sectionOf(application: ClientApplication): string[] {
  const { id, product, config, format } = application;
  return [
    heading(3, textOf(product), id),
    table(`The file of ${product}`, ['System', 'File'], filesOf(config)),
    `\`\`\`${format}\n${fileWithOnly(application, example).trimEnd()}\n\`\`\``,
  ];
}

/** Rows of a table with the file on each operating system. */
export function filesOf({ linux, darwin, windows }: SystemPaths): string[][] {
  return [
    ['Linux', code(`~/${linux}`)],
    ['macOS', code(`~/${darwin}`)],
    ['Windows', code(`%USERPROFILE%\\${windows.replaceAll('/', '\\')}`)],
  ];
}
