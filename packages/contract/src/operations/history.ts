import * as z from 'zod';
import { operation } from '../operation.ts';
import { History, HistoryGrouping } from '../schemas/history.ts';
import { WorkloadName } from '../schemas/names.ts';
import { QueryFlag, time } from './query.ts';

export const historyOperations = {
  getHistory: operation({
    method: 'GET',
    path: '/history',
    tag: 'workloads',
    access: 'read-items',
    command: ['top', '24h'],
    summary: 'Get figures about calls over time',
    description:
      'Returns the number of calls, errors, and denials, the durations, and the bytes: for each minute if the time is within the last 24 hours, otherwise for each hour of the last 30 days. With `by=client` and `by=host`, the series are the connections between clients, workloads, and hosts.',
    query: z.object({
      from: time('The begin of the time, one hour before `to` by default.'),
      to: time('The end of the time, now by default.'),
      by: HistoryGrouping.default('workload'),
      workload: WorkloadName.optional().meta({ description: 'Only figures of this workload.' }),
      totals: QueryFlag.optional().meta({
        description: '`true` leaves out the figures of the steps, so that the response is small.',
      }),
    }),
    success: { status: 200, description: 'The figures.', body: History },
    failures: ['not-found', 'unavailable'],
  }),
};
