import type { Command } from '../../command.ts';
import { searchFlag, timeFlags } from '../flags.ts';

/** The audit log: who did what, and whether the records are unchanged. */
export const auditCommands: readonly Command[] = [
  {
    path: 'audit',
    summary: 'Show the audit log',
    description:
      'Shows who changed workloads, secrets, and settings, which secrets workloads received, and which calls and connections were denied. For a workload that was started with --enable-audit, it also shows every call.',
    flags: [
      {
        name: 'workload',
        kind: 'string',
        value: 'NAME',
        description: 'Only records about this workload',
        completes: 'workload',
      },
      {
        name: 'type',
        kind: 'string',
        value: 'TYPE',
        description: 'Only records of this type, for example mcp_tool_call or api_call',
      },
      {
        name: 'outcome',
        kind: 'string',
        value: 'OUTCOME',
        choices: ['success', 'failure', 'denied', 'error'],
        description: 'Only records with this outcome',
      },
      {
        name: 'user',
        kind: 'string',
        value: 'USER',
        description: 'Only actions of this user, by name or ID',
      },
      searchFlag('records whose type, outcome, workload, user, client, object, origin, or reason contains'),
      ...timeFlags('records'),
      {
        name: 'limit',
        kind: 'integer',
        value: 'NUMBER',
        description: 'The maximum number of records, the newest ones',
        default: 100,
      },
      {
        name: 'follow',
        shorthand: 'f',
        kind: 'boolean',
        description: 'Show new records, until Ctrl-C',
      },
    ],
    examples: ['thv audit', 'thv audit --outcome denied --since 24h', 'thv audit --workload github --follow'],
    load: () => import('./show.ts'),
  },
  {
    path: 'audit verify',
    summary: 'Verify that the audit log is unchanged',
    description:
      'Follows the hash chain of the audit log and reports the first record that was changed or removed. The exit code is 1 if there is one.',
    examples: ['thv audit verify'],
    load: () => import('./verify.ts'),
  },
];
