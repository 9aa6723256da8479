import * as z from 'zod';
import { Fixes } from './fix.ts';

/** The layers between a server program and its clients, from the lowest to the highest. */
export const DiagnosisLayer = z
  .enum([
    'hive',
    'runtime',
    'sandbox',
    'permissions',
    'secrets',
    'install',
    'process',
    'port',
    'tokens',
    'protocol',
    'listing',
    'policies',
    'network',
    'registry',
    'application',
    'file',
    'clients',
  ])
  .meta({ id: 'DiagnosisLayer', description: 'The checked layer.' });
export type DiagnosisLayer = z.infer<typeof DiagnosisLayer>;

export const Finding = z
  .object({
    layer: DiagnosisLayer,
    state: z.enum(['ok', 'warning', 'failed', 'skipped']).meta({
      description:
        'ok: the check passed. warning: the layer works, but with reduced safety or function. failed: the layer does not work. skipped: the check was not possible or not useful.',
    }),
    says: z.string().meta({ description: 'The finding, for users.' }),
    hint: z.string().optional().meta({ description: 'An action that fixes the problem.' }),
    fixes: Fixes,
  })
  .meta({ id: 'Finding', description: 'The finding for one layer.' });
export type Finding = z.infer<typeof Finding>;

export const Diagnosis = z
  .object({
    subject: z.string().meta({ description: 'The name of the workload or the client, or `machine`.' }),
    healthy: z.boolean().meta({ description: 'Whether no check has failed.' }),
    findings: z.array(Finding).meta({ description: 'The findings, from the lowest layer to the highest.' }),
  })
  .meta({
    id: 'Diagnosis',
    description: 'The diagnosis of a workload, a client, or the machine.',
    examples: [
      {
        subject: 'filesystem',
        healthy: false,
        findings: [
          {
            layer: 'process',
            state: 'failed',
            says: 'it exited with code 1',
            hint: 'run thv logs filesystem to see its output',
            fixes: [
              {
                label: 'Show the logs',
                operation: 'getWorkloadLogs',
                parameters: { name: 'filesystem' },
              },
            ],
          },
        ],
      },
    ],
  });
export type Diagnosis = z.infer<typeof Diagnosis>;
