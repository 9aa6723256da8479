import type { Flag } from '../command.ts';
import { oidcFlags } from './flags.ts';

/** Access flags for commands whose callers control this machine. */
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
      'Listen on other addresses without authentication. Anyone who can reach the port can control this machine',
  },
];
