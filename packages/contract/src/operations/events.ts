import * as z from 'zod';
import { operation } from '../operation.ts';
import { DaemonEvent } from '../schemas/event.ts';

export const eventOperations = {
  watchEvents: operation({
    method: 'GET',
    path: '/events',
    tag: 'events',
    access: 'read',
    command: 'none',
    summary: 'Watch events',
    description:
      'Sends every change of a workload, group, client, registry, setting, or secret. Without `Last-Event-ID`, the stream starts with the next change. With `Last-Event-ID`, the stream starts with the first change after that event if the daemon still stores that event.',
    headers: z.object({
      'last-event-id': z
        .string()
        .max(40)
        .optional()
        .meta({ description: 'The ID of the last received event.' }),
    }),
    success: {
      status: 200,
      description: 'Events, until the client disconnects.',
      body: { events: DaemonEvent },
    },
    failures: ['unavailable'],
  }),
};
