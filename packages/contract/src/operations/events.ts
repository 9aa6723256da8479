import * as z from 'zod';
import { operation } from '../operation.ts';
import { DaemonEvent } from '../schemas/event.ts';

export const eventOperations = {
  watchEvents: operation({
    method: 'GET',
    path: '/events',
    tag: 'events',
    summary: 'Watch what changes',
    description:
      'Every change of a workload, group, client application, registry, setting or secret, as it happens. Without `Last-Event-ID` it begins with the next change; with it, with the first one after that event, as long as the daemon remembers it.',
    headers: z.object({
      'last-event-id': z
        .string()
        .max(40)
        .optional()
        .meta({ description: 'The id of the last event that was seen.' }),
    }),
    success: {
      status: 200,
      description: 'Events, until the caller goes away.',
      body: { events: DaemonEvent },
    },
    failures: ['unavailable'],
  }),
};
