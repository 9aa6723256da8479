import * as z from 'zod';
import { operation } from '../operation.ts';
import { AuthorizationDecision, AuthorizationQuestion } from '../schemas/authorization.ts';
import { WorkloadName } from '../schemas/names.ts';

export const authorizationOperations = {
  checkAuthorization: operation({
    method: 'POST',
    path: '/workloads/{name}/authorization/check',
    tag: 'workloads',
    access: 'read',
    command: 'none',
    summary: 'Check the authorization policies of a workload',
    description:
      'Returns the decision of the proxy for a client with these claims, and the policies that determine the decision. Name one tool, prompt, resource, or skill.',
    params: z.object({ name: WorkloadName.meta({ description: 'The name of the workload.' }) }),
    body: AuthorizationQuestion,
    success: { status: 200, description: 'The decision.', body: AuthorizationDecision },
    failures: ['invalid', 'not-found', 'conflict'],
  }),
};
