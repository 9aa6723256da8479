import type { Command } from '../../command.ts';
import { workload } from '../flags.ts';

/** Commands about authorization policies. */
export const authorizationCommands: readonly Command[] = [
  {
    path: 'authz check',
    summary: 'Check the policy decision for a request to a workload',
    description:
      'Decides as the proxy does for a caller with this subject and these claims, and names the policies that decide. The exit code is 1 if the call is denied. Name one tool, prompt, or resource.',
    arguments: [workload],
    flags: [
      { name: 'principal', kind: 'string', value: 'SUBJECT', description: 'The subject (sub) of the token' },
      {
        name: 'claim',
        kind: 'list',
        value: 'NAME=VALUE',
        description: 'An additional claim of the token. A JSON value, such as ["admin"], is parsed as JSON',
      },
      { name: 'tool', kind: 'string', value: 'NAME', description: 'The tool to call' },
      { name: 'prompt', kind: 'string', value: 'NAME', description: 'The prompt to get' },
      { name: 'resource', kind: 'string', value: 'URI', description: 'The resource to read' },
      { name: 'skill', kind: 'string', value: 'URI', description: 'The skill to get' },
      {
        name: 'argument',
        kind: 'list',
        value: 'NAME=VALUE',
        description: 'An argument of the call. A JSON value is parsed as JSON',
      },
      {
        name: 'annotation',
        kind: 'list',
        value: 'NAME=VALUE',
        description:
          'An annotation of the tool, for example readOnlyHint=true. By default, the annotations that you approved',
      },
    ],
    examples: [
      'thv authz check github --principal ada --tool create_issue',
      `thv authz check github --principal ada --claim 'roles=["reader"]' --tool get_issue --annotation readOnlyHint=true`,
    ],
    load: () => import('./check.ts'),
  },
];
