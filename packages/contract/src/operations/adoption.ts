import { operation } from '../operation.ts';
import {
  AdoptServers,
  AdoptionPlan,
  AdoptionResult,
  AdoptionScope,
  Adoptions,
  UndoAdoption,
  UndoneAdoption,
} from '../schemas/adoption.ts';

export const adoptionOperations = {
  planAdoption: operation({
    method: 'POST',
    path: '/adoptions/plan',
    tag: 'clients',
    access: 'write',
    command: ['adopt', '--dry-run'],
    summary: 'Plan the adoption of servers',
    description:
      'Finds the servers that clients run themselves, and describes the workloads that would replace them. Changes nothing.',
    body: AdoptionScope,
    success: { status: 200, description: 'The plan.', body: AdoptionPlan },
    failures: [],
  }),
  adoptServers: operation({
    method: 'POST',
    path: '/adoptions',
    tag: 'clients',
    access: 'write',
    command: ['adopt', '--yes'],
    summary: 'Adopt servers',
    description:
      'Runs each server as a workload, moves its credentials to the secrets, and compares its tools with those of the original command. Only then does the client use the workload. A server that does not work in isolation stays as it is.',
    body: AdoptServers,
    success: { status: 200, description: 'The results, one for each server.', body: AdoptionResult },
    progress: true,
    failures: ['conflict', 'unavailable'],
  }),
  listAdoptions: operation({
    method: 'GET',
    path: '/adoptions',
    tag: 'clients',
    access: 'read',
    command: ['adopt', '--list'],
    summary: 'List adopted servers',
    success: { status: 200, description: 'The adopted entries, with the backups.', body: Adoptions },
    failures: [],
  }),
  undoAdoption: operation({
    method: 'POST',
    path: '/adoptions/undo',
    tag: 'clients',
    access: 'write',
    command: ['adopt', '--undo'],
    summary: 'Undo the adoption of servers',
    description:
      'Restores the configuration files to the byte. In a file that has changed since, only the adopted entries are restored.',
    body: UndoAdoption,
    success: { status: 200, description: 'The restored files.', body: UndoneAdoption },
    progress: true,
    failures: ['conflict', 'unavailable'],
  }),
};
