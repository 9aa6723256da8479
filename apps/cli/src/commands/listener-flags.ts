import type { Flag } from '../command.ts';
import { oidcFlags } from './flags.ts';

/** Who may use what listens, for commands that give those who reach them the power over this machine. */
export const listenerFlags: readonly Flag[] = [
  {
    name: 'token-file',
    kind: 'string',
    value: 'PATH',
    description:
      'A file with the bearer token that callers must send, or with a name and a token in each line',
    completes: 'file',
  },
  ...oidcFlags,
  {
    name: 'insecure-no-auth',
    kind: 'boolean',
    description:
      'Listen beyond this machine without asking callers for a token: whoever reaches it, rules it',
  },
];
