import * as z from 'zod';
import { operation } from '../operation.ts';
import { ClientName } from '../schemas/client.ts';
import { Diagnosis } from '../schemas/diagnosis.ts';
import { WorkloadName } from '../schemas/names.ts';

const success = {
  status: 200,
  description: 'What was found, from the ground up.',
  body: Diagnosis,
} as const;

export const diagnosisOperations = {
  diagnoseMachine: operation({
    method: 'GET',
    path: '/diagnosis',
    tag: 'system',
    summary: 'Look for what is wrong on this machine',
    description: 'What servers run in, where they come from, what they need, and every workload and client.',
    success,
    failures: [],
  }),
  diagnoseWorkload: operation({
    method: 'GET',
    path: '/workloads/{name}/diagnosis',
    tag: 'workloads',
    summary: 'Look for what is wrong with a workload',
    description:
      'Looks at every layer from the runtime to the clients. A running server is asked what tools it has, one that does not run is made ready again.',
    params: z.object({ name: WorkloadName.meta({ description: 'The name of the workload.' }) }),
    success,
    failures: ['not-found'],
  }),
  diagnoseClient: operation({
    method: 'GET',
    path: '/clients/{name}/diagnosis',
    tag: 'clients',
    summary: 'Look for what is wrong with a client application',
    description: 'Whether it is installed and registered, and what its file says of each workload.',
    params: z.object({ name: ClientName.meta({ description: 'The name of the application.' }) }),
    success,
    failures: [],
  }),
};
