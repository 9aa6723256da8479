import type { Command } from '../../command.ts';

/** Newer versions of packages. */
export const updateCommands: readonly Command[] = [
  {
    path: 'outdated',
    summary: 'List workloads with newer package versions',
    description:
      'Looks up the newest version of each npm and Python package in its registry, and installs nothing. Versions of container images and Go modules are not looked up.',
    arguments: [
      {
        name: 'names',
        description: 'The workloads. By default, all',
        variadic: true,
        completes: 'workload',
      },
    ],
    flags: [
      {
        name: 'changes',
        kind: 'boolean',
        description: 'Also show the changes of each upgrade: dependencies, provenance, tools, and hosts',
      },
    ],
    examples: ['thv outdated', 'thv outdated memory --changes'],
    load: () => import('./outdated.ts'),
  },
  {
    path: 'upgrade',
    summary: 'Upgrade workloads to a newer package version',
    description:
      'Shows the newest version with its publication time, provenance, and changed dependencies, and asks for confirmation. Installs nothing before that. The workload keeps its permissions and settings. An upgrade does not approve changed tools: review them afterwards with `thv pin show NAME`.',
    arguments: [{ name: 'name', description: 'The workload', required: true, completes: 'workload' }],
    flags: [{ name: 'yes', shorthand: 'y', kind: 'boolean', description: 'Skip the confirmation' }],
    examples: ['thv upgrade memory', 'thv upgrade memory --yes'],
    load: () => import('./upgrade.ts'),
  },
];
