import * as z from 'zod';
import { Port } from './names.ts';

const HostPattern = z
  .string()
  .min(1)
  .max(253)
  .meta({
    description: 'A host name; with a leading dot, every host below it.',
    examples: ['api.example.com', '.example.com'],
  });

const OutboundPermissions = z.object({
  insecure_allow_all: z.boolean().optional().meta({ description: 'Every host and port may be reached.' }),
  allow_host: z.array(HostPattern).optional().meta({ description: 'The hosts that may be reached.' }),
  allow_port: z.array(Port).optional().meta({ description: 'The ports that may be reached.' }),
});

const InboundPermissions = z.object({
  allow_host: z
    .array(HostPattern)
    .optional()
    .meta({ description: 'The host names that requests may be sent to.' }),
});

const NetworkPermissions = z.object({
  mode: z.string().max(128).optional().meta({
    description: 'A network mode of the container engine, such as `none`, `host` or the name of a network.',
  }),
  outbound: OutboundPermissions.optional(),
  inbound: InboundPermissions.optional(),
});

/**
 * What a server may touch beyond its own program: files and folders to read or write, hosts and ports to reach.
 * What is not granted is refused.
 */
export const PermissionProfile = z
  .object({
    name: z.string().max(200).optional(),
    privileged: z.boolean().optional().meta({
      description: 'Run without any hardening. Only container engines can do that, and the status says so.',
    }),
    read: z
      .array(z.string())
      .optional()
      .meta({ description: 'Mounts that can be read: `PATH` or `HOST:CONTAINER`.' }),
    write: z.array(z.string()).optional().meta({ description: 'Mounts that can be written, too.' }),
    network: NetworkPermissions.optional(),
  })
  .meta({ id: 'PermissionProfile', description: 'What a server may touch beyond its own program.' });

export type PermissionProfile = z.infer<typeof PermissionProfile>;

/** The profiles that can be named instead of being written out. */
export const builtInProfiles = {
  /** Nothing outside is reachable. */
  none: { name: 'none', network: { outbound: {} } },
  /** Everything outside is reachable. */
  network: { name: 'network', network: { outbound: { insecure_allow_all: true } } },
} satisfies Record<string, PermissionProfile>;
