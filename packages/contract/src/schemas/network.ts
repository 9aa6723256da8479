import * as z from 'zod';
import { HostPattern, PermissionProfile } from './permission-profile.ts';
import { Port } from './names.ts';

const when = (description: string) => z.string().meta({ description, format: 'date-time' });

/** What the egress gateway decided about one host and port, however often it was asked. */
export const NetworkDecision = z
  .object({
    host: z
      .string()
      .meta({ description: 'The name that the server looked up, or the address if it used no name.' }),
    port: Port.optional().meta({ description: 'Absent for names that were only looked up.' }),
    verdict: z.enum(['allowed', 'denied']),
    rule: z.string().optional().meta({ description: 'The rule that allowed it.' }),
    reason: z.string().optional().meta({ description: 'Why it was denied.' }),
    fix: z.string().optional().meta({ description: 'The command that allows it.' }),
    count: z.int().meta({ description: 'How often it was decided.' }),
    first_at: when('When it was decided first.'),
    last_at: when('When it was decided last.'),
    sent_bytes: z.int().meta({ description: 'What the server sent on connections that have ended.' }),
    received_bytes: z.int().meta({ description: 'What it received on them.' }),
  })
  .meta({
    id: 'NetworkDecision',
    description: 'What was decided about connections of a server to one host and port.',
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

/** A decision as it is made. */
export const NetworkDecisionMade = z
  .object({ type: z.literal('decision'), decision: NetworkDecision })
  .meta({ id: 'NetworkDecisionMade', description: 'A decision that was just made.' });
export type NetworkDecisionMade = z.infer<typeof NetworkDecisionMade>;

/** A host with or without a port: `api.example.com:443`. */
const HostAndPort = z
  .string()
  .min(1)
  .max(260)
  .meta({
    description: 'A host of a permission profile, perhaps followed by a port.',
    examples: ['api.example.com:443', '*.example.com', '192.0.2.0/24:5432'],
  });

export const NetworkAccess = z
  .object({
    kind: z.enum(['none', 'rules', 'open', 'mode']).meta({
      description:
        '`none`: no network. `rules`: what the lists allow. `open`: every public host on every port, and private addresses. `mode`: a network of the container engine, or that of this machine.',
    }),
    hosts: z.array(HostPattern).optional().meta({
      description: 'With `rules`, the hosts that can be reached; absent means every public host.',
    }),
    ports: z.array(Port).optional().meta({ description: 'With `rules`, the ports.' }),
    private_hosts: z.array(HostPattern).optional().meta({
      description: 'With `open`, the private addresses that can be reached; absent means all.',
    }),
    mode: z.string().optional().meta({ description: 'With `mode`, its name.' }),
    enforced: z.boolean().meta({ description: 'Whether the runtime of the workload enforces this.' }),
  })
  .meta({ id: 'NetworkAccess', description: 'What a server can reach.' });
export type NetworkAccess = z.infer<typeof NetworkAccess>;

/** In a run config and in answers. */
export const LearningMode = z
  .object({ since: when('When learning began. Connections before do not count.') })
  .meta({ id: 'LearningMode', description: 'Every public host is allowed, and each one is recorded.' });

export const Permissions = z
  .object({
    network: NetworkAccess,
    inbound_hosts: z.array(HostPattern).optional().meta({
      description:
        'The only hosts that requests to its proxy may name; absent means localhost and the addresses of this machine.',
    }),
    mounts: z.array(
      z.object({
        source: z.string().meta({ description: 'The path on this machine.' }),
        target: z.string().meta({ description: 'The path that the server sees.' }),
        read_only: z.boolean(),
      }),
    ),
    privileged: z.boolean(),
    learning: LearningMode.optional().meta({
      description: 'Present in learning mode, in which the server reaches every public host.',
    }),
    warnings: z.array(z.string()).meta({ description: 'What makes it less safe than it could be.' }),
  })
  .meta({ id: 'Permissions', description: 'What a workload may access.' });
export type Permissions = z.infer<typeof Permissions>;

export const PermissionChange = z
  .object({
    allow: z.array(HostAndPort).max(100).optional().meta({
      description: 'Added to the hosts and ports that can be reached.',
    }),
    deny: z.array(HostAndPort).max(100).optional().meta({
      description: 'Removed from them. A port that follows a host is removed, too.',
    }),
    tighten: z.boolean().optional().meta({
      description: 'Allow exactly the hosts and ports that the server has been allowed to reach so far.',
    }),
  })
  .meta({
    id: 'PermissionChange',
    description: 'A change of what a workload can reach.',
    examples: [{ allow: ['api.example.com:443'] }],
  });
export type PermissionChange = z.infer<typeof PermissionChange>;

export const ChangedPermissions = z
  .object({
    permissions: Permissions,
    restarted: z.boolean().meta({
      description: 'Whether the workload was restarted, which only a port needs that was not in use before.',
    }),
  })
  .meta({ id: 'ChangedPermissions', description: 'What a workload may access from now on.' });
export type ChangedPermissions = z.infer<typeof ChangedPermissions>;

export const StartedLearning = z
  .object({
    ...LearningMode.shape,
    restarted: z.boolean().meta({
      description: 'Whether the workload was restarted, because its network had no gateway.',
    }),
  })
  .meta({ id: 'StartedLearning', description: 'A workload that is in learning mode.' });

/** Hosts and ports of a profile, without mounts. */
export const LearnedRules = z
  .object({
    hosts: z.array(HostPattern),
    ports: z.array(Port),
  })
  .meta({
    id: 'LearnedRules',
    description: 'The hosts and ports that a server reaches. Without hosts, it has no network.',
    examples: [{ hosts: ['api.example.com'], ports: [443] }],
  });
export type LearnedRules = z.infer<typeof LearnedRules>;

const differenceOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ added: z.array(item), removed: z.array(item), kept: z.array(item) });

export const LearningProposal = z
  .object({
    ...LearningMode.shape,
    network: LearnedRules,
    profile: PermissionProfile.meta({ description: 'The whole profile with these hosts and ports.' }),
    compared_with: z
      .object({
        registry_entry: z.string().optional().meta({
          description: 'The entry whose profile it is; absent for the current profile of the workload.',
        }),
        network: NetworkAccess,
      })
      .meta({ description: 'The profile that the differences are about.' }),
    hosts: differenceOf(z.string()),
    ports: differenceOf(Port),
    complete: z.boolean().meta({
      description: 'False if the record was full, so that hosts may be missing.',
    }),
  })
  .meta({
    id: 'LearningProposal',
    description: 'The smallest profile that covers what a server has reached in learning mode.',
  });
export type LearningProposal = z.infer<typeof LearningProposal>;

export const StopLearning = z
  .object({
    network: LearnedRules.optional().meta({
      description:
        'The hosts and ports to allow from now on: those of the proposal, or some of them. Absent, the profile stays as it was.',
    }),
  })
  .meta({
    id: 'StopLearning',
    description: 'What the workload may reach after learning.',
    examples: [{ network: { hosts: ['api.example.com'], ports: [443] } }],
  });
