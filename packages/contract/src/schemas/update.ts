import * as z from 'zod';

/** A version that a package registry has. */
const Version = z
  .string()
  .max(100)
  .regex(/^[0-9A-Za-z][\w.+-]*$/, 'not a version');

export const WorkloadUpdate = z
  .object({
    name: z.string(),
    package: z.string().meta({ description: 'What runs now.' }),
    current: z.string().optional().meta({ description: 'The version that runs now.' }),
    newest: z.string().optional().meta({
      description: 'The newest version in the package registry. Absent if it cannot be looked up.',
    }),
    published_at: z.string().optional().meta({
      description: 'When the newest version was published, if the registry tells.',
      format: 'date-time',
    }),
    outdated: z.boolean().meta({ description: 'Whether the newest version is newer than the current one.' }),
    young: z.boolean().meta({
      description: 'Whether the newest version is younger than the setting minimum-package-age says.',
    }),
    reason: z.string().optional().meta({ description: 'Why the newest version is not known.' }),
  })
  .meta({
    id: 'WorkloadUpdate',
    description: 'Whether there is a newer version of the server of a workload.',
    examples: [
      {
        name: 'memory',
        package: 'npx://@modelcontextprotocol/server-memory@2026.7.4',
        current: '2026.7.4',
        newest: '2026.8.31',
        published_at: '2026-08-31T09:30:00.000Z',
        outdated: true,
        young: false,
      },
    ],
  });
export type WorkloadUpdate = z.infer<typeof WorkloadUpdate>;

export const UpgradeWorkload = z
  .object({
    version: Version.meta({ description: 'The version to run from now on.' }),
  })
  .meta({
    id: 'UpgradeWorkload',
    description: 'The version to upgrade to.',
    examples: [{ version: '2026.8.31' }],
  });
