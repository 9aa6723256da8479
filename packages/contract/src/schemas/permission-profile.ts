import * as z from 'zod';
import { Port } from './names.ts';

/** How the runtime reads it, says `host-patterns.ts` there. */
export const HostPattern = z
  .string()
  .min(1)
  .max(253)
  .meta({
    description:
      'A name (`api.example.com`), every name below one (`*.example.com`), both (`.example.com`), or an address or range (`192.0.2.0/24`) that is connected to without a name. A private address must be listed as such.',
    examples: ['api.example.com', '*.example.com', '.example.com', '192.0.2.0/24'],
  });

const OutboundPermissions = z.object({
  insecure_allow_all: z.boolean().optional().meta({
    description: 'Every public host and port may be reached, and the private addresses in `allow_host`.',
  }),
  allow_host: z.array(HostPattern).optional().meta({
    description: 'The hosts that may be reached; every public host if only ports are listed.',
  }),
  allow_port: z.array(Port).optional().meta({
    description: 'The ports that may be reached; 80 and 443 if only hosts are listed.',
  }),
});

const InboundPermissions = z.object({
  allow_host: z.array(HostPattern).optional().meta({
    description:
      'The only hosts that the `Host` header of requests to the workload’s proxy may name. Absent or empty, these are `localhost` and the addresses that the proxy listens on. Web pages of these hosts are not trusted.',
  }),
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
  /** Every public host is reachable for web requests, and no private address. */
  public: { name: 'public', network: { outbound: { allow_port: [80, 443] } } },
  /** Every public host is reachable on every port. */
  network: { name: 'network', network: { outbound: { insecure_allow_all: true } } },
} satisfies Record<string, PermissionProfile>;

/** How the refusal of a request begins that has to name a profile. */
export const profileRequired = 'permission_profile is required';
