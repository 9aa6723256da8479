import * as z from 'zod';
import { Provenance } from './provenance.ts';

/** A version in a package registry. */
const Version = z
  .string()
  .max(100)
  .regex(/^[0-9A-Za-z][\w.+-]*$/, 'invalid version');

const DependencyChange = z
  .object({
    name: z.string(),
    from: z.string().optional().meta({ description: 'The installed versions. Absent for a new dependency.' }),
    to: z
      .string()
      .optional()
      .meta({ description: 'The versions after the upgrade. Absent for a removed dependency.' }),
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
        'The differences between the tools in the registry entry of the newest version and the listed tools of the server. Absent without such an entry. ToolHive compares the actual tools when the new version first runs.',
    }),
    hosts: Difference.optional().meta({
      description:
        'The differences between the hosts in the registry entry of the newest version and the allowed hosts of the workload. An upgrade does not allow new hosts.',
    }),
    dependencies: z.array(DependencyChange).optional().meta({
      description: 'The changed dependencies. Absent if the dependencies of one version are unknown.',
    }),
    provenance: z
      .object({ current: Provenance.optional(), newest: Provenance.optional() })
      .meta({ description: 'The verified origins of both versions.' }),
    warnings: z.array(z.string()),
  })
  .meta({
    id: 'UpgradeChanges',
    description: 'The known changes of an upgrade before its installation.',
  });
export type UpgradeChanges = z.infer<typeof UpgradeChanges>;

export const WorkloadUpdate = z
  .object({
    name: z.string(),
    package: z.string().meta({ description: 'The installed package.' }),
    current: z.string().optional().meta({ description: 'The installed version.' }),
    newest: z.string().optional().meta({
      description: 'The newest version in the package registry. Absent if the lookup failed.',
    }),
    published_at: z.string().optional().meta({
      description: 'The publication time of the newest version, if known.',
      format: 'date-time',
    }),
    outdated: z.boolean().meta({ description: 'Whether the newest version is newer than the current one.' }),
    young: z.boolean().meta({
      description: 'Whether the newest version is newer than the setting minimum-package-age allows.',
    }),
    reason: z.string().optional().meta({ description: 'The reason why the newest version is unknown.' }),
    changes: UpgradeChanges.optional().meta({
      description: 'The changes of the upgrade. Only on request, and if a newer version exists.',
    }),
  })
  .meta({
    id: 'WorkloadUpdate',
    description: 'The available update of a workload.',
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
    version: Version.meta({ description: 'The version to run.' }),
  })
  .meta({
    id: 'UpgradeWorkload',
    description: 'The version to upgrade to.',
    examples: [{ version: '2026.8.31' }],
  });
