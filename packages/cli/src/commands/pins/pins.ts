import type { Argument, Command, Flag } from '../../command.ts';

const workload: Argument = {
  name: 'name',
  description: 'The workload',
  required: true,
  completes: 'workload',
};

const items: Argument = {
  name: 'items',
  description: 'Names of tools, prompts, or resources. By default, everything that waits for approval',
  variadic: true,
};

const yes: Flag = {
  name: 'yes',
  shorthand: 'y',
  kind: 'boolean',
  description: 'Skip the confirmation',
};

/** What servers say about their tools, and which changes of that are approved. */
export const pinCommands: readonly Command[] = [
  {
    path: 'pin show',
    summary: "Show a workload's changed tools",
    description:
      "ToolHive records a server's tools, prompts, resources, and instructions at their first use. This command shows every recorded item, later changes, and suspicious text. The exit code is 1 if a change waits for approval.",
    arguments: [workload],
    examples: ['thv pin show github', 'thv pin show github --format json'],
    load: () => import('./show.ts'),
  },
  {
    path: 'pin approve',
    summary: "Approve a workload's changed tools",
    description:
      'Shows the changes and asks for confirmation. Only the versions that are shown are approved, even if the server changes them again in the meantime.',
    arguments: [workload, items],
    flags: [yes],
    examples: ['thv pin approve github', 'thv pin approve github create_issue --yes'],
    load: async () => {
      const { decideWith } = await import('./decide.ts');
      return { run: decideWith('approve') };
    },
  },
  {
    path: 'pin dismiss',
    summary: 'Dismiss changes that a server has reverted',
    description:
      'Removes changes from the list without approving them. They are reported again if the server shows them again.',
    arguments: [workload, items],
    flags: [yes],
    examples: ['thv pin dismiss github create_issue'],
    load: async () => {
      const { decideWith } = await import('./decide.ts');
      return { run: decideWith('dismiss') };
    },
  },
  {
    path: 'pin mode',
    summary: 'Choose the reaction to changed tools',
    description:
      'warn: clients see changes, and ToolHive reports them. block: clients see the approved version, and cannot use changed and new tools until you approve them. off: nothing is recorded. A change from or to off restarts the workload.',
    arguments: [
      workload,
      {
        name: 'mode',
        description: 'The reaction to changed tools',
        required: true,
        choices: ['warn', 'block', 'off'],
      },
    ],
    examples: ['thv pin mode github block'],
    load: () => import('./mode.ts'),
  },
];
