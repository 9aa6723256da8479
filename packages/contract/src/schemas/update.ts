import * as z from 'zod';
import { Provenance } from './provenance.ts';

/** A version that a package registry has. */
const Version = z
  .string()
  .max(100)
  .regex(/^[0-9A-Za-z][\w.+-]*$/, 'not a version');

const DependencyChange = z
  .object({
    name: z.string(),
    from: z.string().optional().meta({ description: 'The installed versions. Absent if it is new.' }),
    to: z
      .string()
      .optional()
      .meta({ description: 'The versions after the upgrade. Absent if it is removed.' }),
  })
  .meta({
    id: 'DependencyChange',
    description: 'A dependency that an upgrade would add, change, or remove.',
  });
export type DependencyChange = z.infer<typeof DependencyChange>;

const Difference = z.object({ added: z.array(z.string()), removed: z.array(z.string()) });

const UpgradeChanges = z
  .object({
    tools: Difference.optional().meta({
      description:
        'The tools in the registry entry of the newest version, compared with those that the server has listed. Absent without such an entry. What the new version really lists is compared when it first runs.',
    }),
    hosts: Difference.optional().meta({
      description:
        'The hosts in the registry entry of the newest version, compared with those that the workload may reach. An upgrade grants none of them.',
    }),
    dependencies: z.array(DependencyChange).optional().meta({
      description: 'Absent if the dependencies of one of the versions are not known.',
    }),
    provenance: z
      .object({ current: Provenance.optional(), newest: Provenance.optional() })
      .meta({ description: 'Where both versions were built.' }),
    warnings: z.array(z.string()),
  })
  .meta({
    id: 'UpgradeChanges',
    description: 'What an upgrade would change, as far as that is known before the new version is installed.',
  });
export type UpgradeChanges = z.infer<typeof UpgradeChanges>;

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
    changes: UpgradeChanges.optional().meta({
      description: 'Only if asked for, and if there is a newer version.',
    }),
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
