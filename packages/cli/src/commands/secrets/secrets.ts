import type { Argument, Command, Flag } from '../../command.ts';

const secret: Argument = {
  name: 'name',
  description: 'The name of the secret',
  required: true,
  completes: 'secret',
};

const yes: Flag = { name: 'yes', shorthand: 'y', kind: 'boolean', description: 'Skip the confirmation' };

/** Secrets, which only servers receive. */
export const secretCommands: readonly Command[] = [
  {
    path: 'secret setup',
    summary: 'Set up a secrets provider',
    description:
      'Asks for the provider, and for the password of the encrypted provider. Run the command again to unlock the encrypted secrets or to switch the provider. Stored secrets stay.\n\nWithout a terminal, --provider selects the provider, and the password comes from standard input. On a system with a keyring, `thv secret provider encrypted` needs no password.',
    flags: [
      {
        name: 'provider',
        kind: 'string',
        value: 'PROVIDER',
        description: 'The provider: encrypted, 1password, environment, or none',
        completes: 'secrets-provider',
      },
      {
        name: 'change-password',
        kind: 'boolean',
        description: 'Change the password of the encrypted secrets, which must be unlocked',
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
    summary: 'Select a secrets provider',
    description:
      'Selects the provider for secrets. Tests the new provider first. Secrets in the previous provider stay there.',
    arguments: [
      {
        name: 'name',
        description: 'encrypted, 1password, environment, or none',
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
      'Asks for the value without showing it, or reads it from standard input and removes one newline at the end. Replaces an existing secret with the same name.',
    arguments: [secret],
    hidesExcess: true,
    excessHint: () => 'omit the value, which other users can see in command lines. thv asks for the value',
    examples: ['thv secret set github-token', 'thv secret set github-token < token-file'],
    load: () => import('./set.ts'),
  },
  {
    path: 'secret get',
    summary: 'Print a secret',
    arguments: [secret],
    examples: ['thv secret get github-token'],
    load: () => import('./get.ts'),
  },
  {
    path: 'secret list',
    summary: 'List secrets',
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
    summary: 'Remove the key of the encrypted secrets from the keyring',
    description:
      'Removes the key of the encrypted secrets from the system keyring. Afterwards, only the password unlocks them. Has no effect on secrets without a password, because nothing else could unlock them.',
    examples: ['thv secret reset-keyring'],
    load: () => import('./reset-keyring.ts'),
  },
];
