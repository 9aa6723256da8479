import * as z from 'zod';
import { operation } from '../operation.ts';
import { AuthorizationDecision, AuthorizationQuestion } from '../schemas/authorization.ts';
import { WorkloadName } from '../schemas/names.ts';

export const authorizationOperations = {
  checkAuthorization: operation({
    method: 'POST',
    path: '/workloads/{name}/authorization/check',
    tag: 'workloads',
    summary: 'Check what the policies of a workload allow',
    description:
      'Decides as the proxy does for a caller with these claims, and names the policies that decide. Name one tool, prompt, or resource.',
    params: z.object({ name: WorkloadName.meta({ description: 'The name of the workload.' }) }),
    body: AuthorizationQuestion,
    success: { status: 200, description: 'The decision.', body: AuthorizationDecision },
    failures: ['invalid', 'not-found', 'conflict'],
  }),
};
