import * as z from 'zod';

/** What stands between a program and the clients that use it, from the ground up. */
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
  .meta({ id: 'DiagnosisLayer', description: 'What was looked at.' });
export type DiagnosisLayer = z.infer<typeof DiagnosisLayer>;

export const Finding = z
  .object({
    layer: DiagnosisLayer,
    state: z.enum(['ok', 'warning', 'failed', 'skipped']).meta({
      description:
        'ok: as it should be. warning: it works, less well or less safely than it could. failed: it does not work. skipped: there was no way to look, or no sense in it.',
    }),
    says: z.string().meta({ description: 'What was found, for a person.' }),
    hint: z.string().optional().meta({ description: 'What to do about it.' }),
  })
  .meta({ id: 'Finding', description: 'What was found on one layer.' });
export type Finding = z.infer<typeof Finding>;

export const Diagnosis = z
  .object({
    subject: z.string().meta({ description: 'The workload or the client application, or machine.' }),
    healthy: z.boolean().meta({ description: 'Nothing has failed.' }),
    findings: z.array(Finding).meta({ description: 'From the ground up.' }),
  })
  .meta({
    id: 'Diagnosis',
    description: 'Why something works, or does not.',
    examples: [
      {
        subject: 'filesystem',
        healthy: false,
        findings: [
          {
            layer: 'process',
            state: 'failed',
            says: 'it exited with code 1',
            hint: '`thv logs filesystem` shows what it wrote',
          },
        ],
      },
    ],
  });
export type Diagnosis = z.infer<typeof Diagnosis>;
