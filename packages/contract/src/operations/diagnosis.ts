import * as z from 'zod';
import { operation } from '../operation.ts';
import { ClientName } from '../schemas/client.ts';
import { Diagnosis } from '../schemas/diagnosis.ts';
import { WorkloadName } from '../schemas/names.ts';

const success = {
  status: 200,
  description: 'The findings, from the lowest layer to the highest.',
  body: Diagnosis,
} as const;

export const diagnosisOperations = {
  diagnoseMachine: operation({
    method: 'GET',
    path: '/diagnosis',
    tag: 'system',
    access: 'read',
    command: ['doctor'],
    summary: 'Diagnose this machine',
    description: 'Checks the runtimes, the registry, the prerequisites, and each workload and client.',
    success,
    failures: [],
  }),
  diagnoseWorkload: operation({
    method: 'GET',
    path: '/workloads/{name}/diagnosis',
    tag: 'workloads',
    access: 'read',
    command: ['doctor', 'filesystem'],
    summary: 'Diagnose a workload',
    description:
      'Checks every layer from the runtime to the clients. ToolHive lists the tools if the server runs, and installs a stopped server again.',
    params: z.object({ name: WorkloadName.meta({ description: 'The workload name.' }) }),
    success,
    failures: ['not-found'],
  }),
  diagnoseClient: operation({
    method: 'GET',
    path: '/clients/{name}/diagnosis',
    tag: 'clients',
    access: 'read',
    command: ['doctor', 'cursor'],
    summary: 'Diagnose a client',
    description:
      'Checks whether the client is installed and registered, and the entry of each workload in its configuration file.',
    params: z.object({ name: ClientName.meta({ description: 'The client name.' }) }),
    success,
    failures: [],
  }),
};
