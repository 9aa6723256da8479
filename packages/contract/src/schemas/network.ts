import * as z from 'zod';
import { HostPattern, PermissionProfile } from './permission-profile.ts';
import { LocalPorts, Port } from './names.ts';
import { Risk } from './risk.ts';

const when = (description: string) => z.string().meta({ description, format: 'date-time' });

/** All identical decisions of the egress gateway about a host and port. */
export const NetworkDecision = z
  .object({
    host: z.string().meta({ description: 'The host name that the server used, or the address.' }),
    port: Port.optional().meta({ description: 'The port. Absent for DNS lookups.' }),
    verdict: z.enum(['allowed', 'denied']),
    rule: z.string().optional().meta({ description: 'The rule that allowed the connection.' }),
    reason: z.string().optional().meta({ description: 'The reason for the denial.' }),
    fix: z.string().optional().meta({ description: 'A command that allows the connection.' }),
    count: z.int().meta({ description: 'The number of decisions.' }),
    first_at: when('The time of the first decision.'),
    last_at: when('The time of the last decision.'),
    sent_bytes: z
      .int()
      .meta({ description: 'The number of bytes that the server sent on closed connections.' }),
    received_bytes: z
      .int()
      .meta({ description: 'The number of bytes that the server received on closed connections.' }),
  })
  .meta({
    id: 'NetworkDecision',
    description: 'The decisions about connections of a server to a host and port.',
    examples: [
      {
        host: 'api.example.com',
        port: 443,
        verdict: 'denied',
        reason: 'no rule allows this host',
        fix: 'thv permission allow github api.example.com:443',
        count: 3,
        first_at: '2026-01-31T09:30:00.000Z',
        last_at: '2026-01-31T09:31:00.000Z',
        sent_bytes: 0,
        received_bytes: 0,
      },
    ],
  });
export type NetworkDecision = z.infer<typeof NetworkDecision>;

export const NetworkDecisions = z
  .object({ decisions: z.array(NetworkDecision) })
  .meta({ id: 'NetworkDecisions', description: 'Decisions, the latest first.' });

/** A new decision. */
export const NetworkDecisionMade = z
  .object({ type: z.literal('decision'), decision: NetworkDecision })
  .meta({ id: 'NetworkDecisionMade', description: 'A new decision.' });
export type NetworkDecisionMade = z.infer<typeof NetworkDecisionMade>;

/** A host with or without a port: `api.example.com:443`. */
const HostAndPort = z
  .string()
  .min(1)
  .max(260)
  .meta({
    description: 'A host of a permission profile, with an optional port.',
    examples: ['api.example.com:443', '*.example.com', '192.0.2.0/24:5432'],
  });

export const NetworkAccess = z
  .object({
    kind: z.enum(['none', 'rules', 'open', 'mode']).meta({
      description:
        '`none`: no network. `rules`: what the lists allow. `open`: every public host on every port, and private addresses. `mode`: a network of the container engine, or that of this machine.',
    }),
    hosts: z.array(HostPattern).optional().meta({
      description: 'With `rules`, the allowed hosts. Absent for every public host.',
    }),
    ports: z.array(Port).optional().meta({ description: 'With `rules`, the allowed ports.' }),
    private_hosts: z.array(HostPattern).optional().meta({
      description: 'With `open`, the allowed private addresses. Absent for all private addresses.',
    }),
    local_ports: LocalPorts.optional().meta({
      description:
        'With `rules`, the ports of this machine’s loopback address that the server can connect to.',
    }),
    mode: z.string().optional().meta({ description: 'With `mode`, the name of the network mode.' }),
    enforced: z.boolean().meta({ description: 'Whether the runtime enforces these rules.' }),
  })
  .meta({ id: 'NetworkAccess', description: 'The network access of a server.' });
export type NetworkAccess = z.infer<typeof NetworkAccess>;

/** For run configs and responses. */
export const LearningMode = z
  .object({
    since: when('The start of learning mode. Earlier connections do not count.'),
    until: when('The end of learning mode. Absent if only a request ends it.').optional(),
  })
  .meta({
    id: 'LearningMode',
    description: 'In learning mode, ToolHive allows and records every public host.',
  });
export type LearningMode = z.infer<typeof LearningMode>;

/** For run configs and responses. */
export const LearnedMode = z
  .object({ since: LearningMode.shape.since, until: when('The time of the end.') })
  .meta({
    id: 'LearnedMode',
    description:
      'A learning mode that has ended by its time. Its record changes nothing until you apply or discard the record.',
  });
export type LearnedMode = z.infer<typeof LearnedMode>;

/** The time after which learning mode ends by itself. At most a week. */
export const LearningTime = z.coerce.number().int().min(1).max(604_800).meta({
  description:
    'The time in seconds after which ToolHive ends learning mode. Without this parameter, a workload learns until a request ends learning mode.',
});

export const Permissions = z
  .object({
    network: NetworkAccess,
    inbound_hosts: z.array(HostPattern).optional().meta({
      description:
        'The allowed hosts in requests to the proxy. Absent for localhost and the addresses of this machine.',
    }),
    mounts: z.array(
      z.object({
        source: z.string().meta({ description: 'The path on this machine.' }),
        target: z.string().meta({ description: 'The path for the server.' }),
        read_only: z.boolean(),
      }),
    ),
    privileged: z.boolean(),
    learning: LearningMode.optional().meta({
      description: 'Present in learning mode, in which the server can reach every public host.',
    }),
    learned: LearnedMode.optional().meta({
      description:
        'Present after a learning mode that has ended by its time, until its record is applied or discarded.',
    }),
    warnings: z.array(z.string()).meta({ description: 'The warnings about reduced safety.' }),
  })
  .meta({ id: 'Permissions', description: "A workload's permissions." });
export type Permissions = z.infer<typeof Permissions>;

export const PermissionChange = z
  .object({
    allow: z.array(HostAndPort).max(100).optional().meta({
      description: 'The hosts and ports to add to the allowlist.',
    }),
    deny: z.array(HostAndPort).max(100).optional().meta({
      description: 'The hosts and ports to remove from the allowlist, including the port after a host.',
    }),
    allow_local_ports: LocalPorts.optional().meta({
      description:
        'The ports of this machine’s loopback address to add. New ports require the risk `local-ports` in `accepted_risks`.',
    }),
    deny_local_ports: LocalPorts.optional().meta({
      description: 'The ports of this machine’s loopback address to remove, which ends their connections.',
    }),
    accepted_risks: z.array(Risk).optional().meta({
      description: 'The dangerous access that the user has accepted.',
    }),
    tighten: z.boolean().optional().meta({
      description: 'Reduce the allowlist to the hosts and ports that the server has used.',
    }),
  })
  .meta({
    id: 'PermissionChange',
    description: 'A change of the network access of a workload.',
    examples: [{ allow: ['api.example.com:443'] }],
  });
export type PermissionChange = z.infer<typeof PermissionChange>;

export const ChangedPermissions = z
  .object({
    permissions: Permissions,
    restarted: z.boolean().meta({
      description: 'Whether the workload was restarted. Only new ports and changed mounts require a restart.',
    }),
  })
  .meta({ id: 'ChangedPermissions', description: "A workload's changed permissions." });
export type ChangedPermissions = z.infer<typeof ChangedPermissions>;

export const StartedLearning = z
  .object({
    ...LearningMode.shape,
    restarted: z.boolean().meta({
      description: 'Whether the workload was restarted, which is necessary if its network had no gateway.',
    }),
  })
  .meta({ id: 'StartedLearning', description: 'A workload in learning mode.' });

/** Hosts and ports of a profile, without mounts. */
export const LearnedRules = z
  .object({
    hosts: z.array(HostPattern),
    ports: z.array(Port),
  })
  .meta({
    id: 'LearnedRules',
    description: 'The hosts and ports of a server. Without hosts, the server has no network access.',
    examples: [{ hosts: ['api.example.com'], ports: [443] }],
  });
export type LearnedRules = z.infer<typeof LearnedRules>;

const MountAccess = z.enum(['read', 'write']).meta({ description: '`write` includes reading.' });

export const LearnedMount = z
  .object({
    source: z.string().meta({ description: 'The path on this machine.' }),
    target: z.string().meta({ description: 'The path for the server.' }),
    granted: MountAccess,
    used: z.enum(['none', 'read', 'write']).meta({
      description:
        'The access that was used in learning mode, also by other programs. The granted access if that is unknown.',
    }),
    files: z.array(z.string()).meta({
      description: 'Up to 20 of the used files and directories, relative to the mount.',
    }),
    unknown: z.string().optional().meta({
      description: 'The reason why accesses are missing in the record. Such a mount is kept.',
    }),
  })
  .meta({ id: 'LearnedMount', description: 'The use of a mount in learning mode.' });
export type LearnedMount = z.infer<typeof LearnedMount>;

export const KeptMount = z
  .object({ target: z.string().meta({ description: 'The path for the server.' }), access: MountAccess })
  .meta({ id: 'KeptMount', description: 'A mount that the server keeps after learning mode.' });
export type KeptMount = z.infer<typeof KeptMount>;

const differenceOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ added: z.array(item), removed: z.array(item), kept: z.array(item) });

export const LearningProposal = z
  .object({
    ...LearningMode.shape,
    network: LearnedRules,
    mounts: z.array(LearnedMount).meta({ description: 'The mounts of the workload, also those of volumes.' }),
    profile: PermissionProfile.meta({
      description: 'The complete profile with these hosts, ports, and used mounts.',
    }),
    compared_with: z
      .object({
        registry_entry: z.string().optional().meta({
          description: 'The registry entry with the profile. Absent for the current profile of the workload.',
        }),
        network: NetworkAccess,
      })
      .meta({ description: 'The profile for the comparison.' }),
    hosts: differenceOf(z.string()),
    ports: differenceOf(Port),
    complete: z.boolean().meta({
      description: 'False if the record was full, so that hosts can be missing.',
    }),
  })
  .meta({
    id: 'LearningProposal',
    description: 'The smallest profile that covers everything that the server used in learning mode.',
  });
export type LearningProposal = z.infer<typeof LearningProposal>;

export const StopLearning = z
  .object({
    network: LearnedRules.optional().meta({
      description:
        'The hosts and ports to allow: all or some from the proposal. Without this field, the profile does not change.',
    }),
    mounts: z.array(KeptMount).optional().meta({
      description:
        'The mounts to keep, with at most their current access. All others are removed. Without this field, the mounts do not change.',
    }),
  })
  .meta({
    id: 'StopLearning',
    description: 'The access of the workload after learning mode.',
    examples: [
      {
        network: { hosts: ['api.example.com'], ports: [443] },
        mounts: [{ target: '/data', access: 'read' }],
      },
    ],
  });
export type StopLearning = z.infer<typeof StopLearning>;
