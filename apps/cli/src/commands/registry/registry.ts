import type { Command } from '../../command.ts';

/** The catalogue of servers. Where it comes from is a setting. */
export const registryCommands: readonly Command[] = [
  {
    path: 'registry list',
    aliases: ['ls'],
    summary: 'List the servers of the registry',
    examples: ['thv registry list', 'thv registry list --format json'],
    load: () => import('./list.ts'),
  },
  {
    path: 'registry info',
    summary: 'Tell all about a server of the registry',
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
    description: 'Finds servers with QUERY in their name, their description or one of their tags.',
    arguments: [{ name: 'query', description: 'What to look for', required: true }],
    examples: ['thv search files', 'thv search github --format json'],
    load: () => import('./search.ts'),
  },
];
