import * as z from 'zod';
import { Port } from './names.ts';

/** `host-patterns.ts` of the runtime implements the matching. */
export const HostPattern = z
  .string()
  .min(1)
  .max(253)
  .meta({
    description:
      'A host name (`api.example.com`), all its subdomains (`*.example.com`), both (`.example.com`), or an address or address range (`192.0.2.0/24`) for connections without a host name. Private addresses must be listed explicitly.',
    examples: ['api.example.com', '*.example.com', '.example.com', '192.0.2.0/24'],
  });

const OutboundPermissions = z.object({
  insecure_allow_all: z.boolean().optional().meta({
    description: 'Allow every public host and port, and the private addresses in `allow_host`.',
  }),
  allow_host: z.array(HostPattern).optional().meta({
    description: 'The allowed hosts. Every public host if only ports are listed.',
  }),
  allow_port: z.array(Port).optional().meta({
    description: 'The allowed ports. 80 and 443 if only hosts are listed.',
  }),
});

const InboundPermissions = z.object({
  allow_host: z.array(HostPattern).optional().meta({
    description:
      'The allowed hosts in the `Host` header of requests to the workload proxy. If absent or empty, `localhost` and the addresses that the proxy listens on. Web pages of these hosts are not trusted.',
  }),
});

const NetworkPermissions = z.object({
  mode: z.string().max(128).optional().meta({
    description: 'A network mode of the container engine, such as `none`, `host`, or a network name.',
  }),
  outbound: OutboundPermissions.optional(),
  inbound: InboundPermissions.optional(),
});

/**
 * The permissions of a server: files and directories to read or write, hosts and ports to connect to.
 * All other access is denied.
 */
export const PermissionProfile = z
  .object({
    name: z.string().max(200).optional(),
    privileged: z.boolean().optional().meta({
      description:
        'Run without any hardening. Only container engines support this option, and the workload status shows a warning.',
    }),
    read: z
      .array(z.string())
      .optional()
      .meta({ description: 'The read-only mounts, as `PATH` or `HOST:CONTAINER`.' }),
    write: z
      .array(z.string())
      .optional()
      .meta({ description: 'The writable mounts, as `PATH` or `HOST:CONTAINER`.' }),
    network: NetworkPermissions.optional(),
  })
  .meta({ id: 'PermissionProfile', description: "A server's permissions." });

export type PermissionProfile = z.infer<typeof PermissionProfile>;

/** The built-in profiles, which can be selected by name. */
export const builtInProfiles = {
  /** No network access. */
  none: { name: 'none', network: { outbound: {} } },
  /** Every public host on the ports of web servers, but no private address. */
  public: { name: 'public', network: { outbound: { allow_port: [80, 443] } } },
  /** Every public host on every port. */
  network: { name: 'network', network: { outbound: { insecure_allow_all: true } } },
} satisfies Record<string, PermissionProfile>;

/** The start of the error for a request without a required profile. */
export const profileRequired = 'permission_profile is required';
