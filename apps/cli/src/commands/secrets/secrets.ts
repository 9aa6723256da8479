import type { Argument, Command, Flag } from '../../command.ts';

const secret: Argument = {
  name: 'name',
  description: 'The name of the secret',
  required: true,
  completes: 'secret',
};

const yes: Flag = { name: 'yes', shorthand: 'y', kind: 'boolean', description: 'Do not ask' };

/** Values that only servers get to see. */
export const secretCommands: readonly Command[] = [
  {
    path: 'secret setup',
    summary: 'Set up where secrets are kept',
    description:
      'Asks for the provider, and for a password of the encrypted one. Done again, it unlocks the encrypted secrets with their password, or goes on with another provider; what is stored stays.\n\nWhere there is no terminal, --provider says which one, and the password comes from standard input. `thv secret provider encrypted` does without a password, where the system has a keyring.',
    flags: [
      {
        name: 'provider',
        kind: 'string',
        value: 'PROVIDER',
        description: 'Where to keep them: encrypted, 1password, none or environment',
        completes: 'secrets-provider',
      },
      {
        name: 'change-password',
        kind: 'boolean',
        description: 'Take a new password for the encrypted secrets, which have to be open',
      },
    ],
    examples: [
      'thv secret setup',
      'thv secret setup --provider encrypted < password-file',
      'thv secret setup --change-password',
    ],
    load: () => import('./setup.ts'),
  },
  {
    path: 'secret provider',
    summary: 'Choose where secrets are kept',
    description:
      'Chooses where secrets are kept. The provider is tried out before it is used, and what another one keeps stays there.',
    arguments: [
      {
        name: 'name',
        description: 'encrypted, 1password, none or environment',
        required: true,
        completes: 'secrets-provider',
      },
    ],
    examples: ['thv secret provider 1password'],
    load: () => import('./provider.ts'),
  },
  {
    path: 'secret set',
    summary: 'Store a secret',
    description:
      'Asks for the value without showing it, or takes it from standard input, where one newline at the end is left out. One of that name is replaced.',
    arguments: [secret],
    examples: ['thv secret set github-token', 'thv secret set github-token < token-file'],
    load: () => import('./set.ts'),
  },
  {
    path: 'secret get',
    summary: 'Print the value of a secret',
    arguments: [secret],
    examples: ['thv secret get github-token'],
    load: () => import('./get.ts'),
  },
  {
    path: 'secret list',
    summary: 'List the names of secrets',
    examples: ['thv secret list', 'thv secret list --format json'],
    load: () => import('./list.ts'),
  },
  {
    path: 'secret delete',
    summary: 'Delete a secret',
    arguments: [secret],
    flags: [yes],
    examples: ['thv secret delete github-token', 'thv secret delete github-token --yes'],
    load: () => import('./delete.ts'),
  },
  {
    path: 'secret reset-keyring',
    summary: 'Have the keyring forget what opens the encrypted secrets',
    description:
      'Has the keyring of the system forget what opens the encrypted secrets; from then on their password does. Does nothing to secrets without a password: nobody could open them.',
    examples: ['thv secret reset-keyring'],
    load: () => import('./reset-keyring.ts'),
  },
];
