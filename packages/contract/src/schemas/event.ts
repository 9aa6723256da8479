import * as z from 'zod';
import { pinnedKinds } from './tool-pins.ts';
import { WorkloadStatus } from './workload.ts';

const at = z.string().meta({ description: 'The time of the event, as RFC 3339.', format: 'date-time' });

const WorkloadChanged = z.object({
  type: z.literal('workload.changed'),
  at,
  name: z.string(),
  group: z.string(),
  status: WorkloadStatus,
  status_context: z.string().optional().meta({ description: 'The reason for the status, for users.' }),
});

const named = <Type extends string>(type: Type) => z.object({ type: z.literal(type), at, name: z.string() });

/** A change in the daemon. Events about secrets contain only the name. */
export const DaemonEvent = z
  .discriminatedUnion('type', [
    WorkloadChanged,
    named('workload.removed'),
    named('group.changed'),
    named('group.removed'),
    named('client.changed'),
    z.object({
      type: z.literal('client.unmanaged'),
      at,
      name: z.string().meta({ description: 'The client.' }),
      servers: z.array(z.string()).meta({
        description:
          'The servers that were added to its configuration and do not lead to a workload, at most 20.',
      }),
    }),
    named('secret.changed'),
    named('secret.removed'),
    z.object({ type: z.literal('secrets.changed'), at }),
    z.object({ type: z.literal('registry.changed'), at, name: z.string() }),
    named('setting.changed'),
    z.object({
      type: z.literal('network.denied'),
      at,
      name: z.string().meta({ description: 'The workload.' }),
      host: z.string().meta({ description: 'The host that its rules do not allow.' }),
    }),
    z.object({
      type: z.literal('pins.changed'),
      at,
      name: z.string().meta({ description: 'The workload.' }),
      changes: z
        .array(
          z.object({
            kind: z.enum(pinnedKinds),
            item: z.string().meta({ description: 'The original name of the server.' }),
            change: z.enum(['changed', 'new', 'removed', 'suspicious']),
          }),
        )
        .meta({ description: 'The changes since the last approval, at most 20 items.' }),
    }),
    z.object({
      type: z.literal('workload.progress'),
      at,
      name: z.string().meta({ description: 'The workload, which may not exist yet.' }),
      message: z
        .string()
        .meta({ description: 'The current step of the creation or change, at most 500 characters.' }),
    }),
    z.object({
      type: z.literal('tool.changed'),
      at,
      name: z.string().meta({ description: 'The workload.' }),
      items: z
        .array(
          z.object({
            kind: z.enum(pinnedKinds),
            item: z.string().meta({ description: 'The original name of the server.' }),
            change: z.enum(['changed', 'new', 'removed']),
          }),
        )
        .meta({ description: 'The differences from the previous listing, at most 20 items.' }),
    }),
    z.object({
      type: z.literal('approval.requested'),
      at,
      name: z.string().meta({ description: 'The workload.' }),
      pending: z
        .int()
        .meta({ description: 'The number of items that are blocked until the user approves them.' }),
    }),
    z.object({
      type: z.literal('update.found'),
      at,
      name: z.string().meta({ description: 'The workload.' }),
      version: z.string().meta({ description: 'Its newer package version.' }),
    }),
    z.object({ type: z.literal('reset'), at }),
  ])
  .meta({
    id: 'DaemonEvent',
    description:
      'A change in the daemon. `reset` means that earlier events are missing, so a client must read its data again.',
    examples: [
      {
        type: 'workload.changed',
        at: '2026-01-31T09:30:00.000Z',
        name: 'filesystem',
        group: 'default',
        status: 'running',
      },
    ],
  });
export type DaemonEvent = z.infer<typeof DaemonEvent>;
