import type { Command, Flag } from '../../command.ts';

const pageFlags: readonly Flag[] = [
  {
    name: 'limit',
    kind: 'integer',
    value: 'COUNT',
    description: 'The page size. 0 shows all entries',
    default: 0,
  },
  {
    name: 'offset',
    kind: 'integer',
    value: 'COUNT',
    description: 'The number of entries before the page',
    default: 0,
  },
];

/** The registry commands. A setting selects the registry. */
export const registryCommands: readonly Command[] = [
  {
    path: 'registry list',
    aliases: ['ls'],
    summary: 'List registry entries',
    flags: pageFlags,
    examples: [
      'thv registry list',
      'thv registry list --limit 50 --offset 50',
      'thv registry list --format json',
    ],
    load: () => import('./list.ts'),
  },
  {
    path: 'registry info',
    summary: 'Show a registry entry',
    arguments: [
      {
        name: 'server',
        description: 'The name of the server in the registry',
        required: true,
        completes: 'registry-server',
      },
    ],
    examples: ['thv registry info fetch', 'thv registry info fetch --format json'],
    load: () => import('./info.ts'),
  },
  {
    path: 'search',
    summary: 'Search the registry',
    description: 'Finds servers with all words of QUERY in their name, description, tags, or tools.',
    arguments: [{ name: 'query', description: 'The search words', required: true }],
    flags: pageFlags,
    examples: ['thv search files', 'thv search github --format json'],
    load: () => import('./search.ts'),
  },
];
