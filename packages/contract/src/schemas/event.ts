import * as z from 'zod';
import { pinnedKinds } from './tool-pins.ts';
import { WorkloadStatus } from './workload.ts';

const at = z.string().meta({ description: 'When, as RFC 3339.', format: 'date-time' });

const WorkloadChanged = z.object({
  type: z.literal('workload.changed'),
  at,
  name: z.string(),
  group: z.string(),
  status: WorkloadStatus,
  status_context: z.string().optional().meta({ description: 'Why, for a person.' }),
});

const named = <Type extends string>(type: Type) => z.object({ type: z.literal(type), at, name: z.string() });

/** Something that changed in the daemon. Of secrets it only tells the name. */
export const DaemonEvent = z
  .discriminatedUnion('type', [
    WorkloadChanged,
    named('workload.removed'),
    named('group.changed'),
    named('group.removed'),
    named('client.changed'),
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
            item: z.string().meta({ description: 'The name that the server gives it.' }),
            change: z.enum(['changed', 'new', 'removed', 'suspicious']),
          }),
        )
        .meta({ description: 'What the server has changed since the user approved it, at most 20 items.' }),
    }),
    z.object({
      type: z.literal('workload.progress'),
      at,
      name: z.string().meta({ description: 'The workload, which may not exist yet.' }),
      message: z
        .string()
        .meta({ description: 'What its creation or change is doing, at most 500 characters.' }),
    }),
    z.object({
      type: z.literal('tool.changed'),
      at,
      name: z.string().meta({ description: 'The workload.' }),
      items: z
        .array(
          z.object({
            kind: z.enum(pinnedKinds),
            item: z.string().meta({ description: 'The name that the server gives it.' }),
            change: z.enum(['changed', 'new', 'removed']),
          }),
        )
        .meta({ description: 'How its list differs from the one before, at most 20 items.' }),
    }),
    z.object({
      type: z.literal('approval.requested'),
      at,
      name: z.string().meta({ description: 'The workload.' }),
      pending: z.int().meta({ description: 'How many items are held back until the user approves them.' }),
    }),
    z.object({ type: z.literal('reset'), at }),
  ])
  .meta({
    id: 'DaemonEvent',
    description:
      'Something that changed. `reset` says that events are missing before this one: whoever keeps a picture of the daemon should read it anew.',
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
