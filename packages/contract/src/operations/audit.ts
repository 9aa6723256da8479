import * as z from 'zod';
import { operation } from '../operation.ts';
import { search, time } from './query.ts';
import { AuditOutcome, AuditRecords, AuditVerification, AuditWritten } from '../schemas/audit.ts';

const filters = {
  workload: z.string().max(256).optional().meta({ description: 'Only records about this workload.' }),
  type: z.string().max(64).optional().meta({ description: 'Only records of this type.' }),
  outcome: AuditOutcome.optional().meta({ description: 'Only records with this outcome.' }),
  since: time('Only records of this time or later, as RFC 3339.'),
  search: search(
    'Only records whose type, outcome, workload, user, client, object, origin, or reason contains this text. Letters of the Latin alphabet match in both cases. Bodies are not searched.',
  ),
  user: z.string().max(512).optional().meta({ description: 'Only actions of this user, by name or ID.' }),
};

export const auditOperations = {
  listAudit: operation({
    method: 'GET',
    path: '/audit',
    tag: 'audit',
    access: 'read',
    command: ['audit', '24h'],
    summary: 'Read audit records',
    description: 'Returns the newest records that match all filters, in the order of their time.',
    query: z.object({
      ...filters,
      until: time('Only records before this time, as RFC 3339.'),
      limit: z.coerce
        .number()
        .int()
        .min(1)
        .max(1000)
        .optional()
        .meta({ description: 'The maximum number of records, 100 by default.', type: 'integer' }),
    }),
    success: { status: 200, description: 'The records.', body: AuditRecords },
    failures: [],
  }),
  watchAudit: operation({
    method: 'GET',
    path: '/audit/events',
    tag: 'audit',
    access: 'read',
    command: ['audit', '--follow'],
    summary: 'Watch audit records',
    description:
      'Sends each new record. With `Last-Event-ID`, the stream starts with the first record after that ID.',
    query: z.object(filters),
    headers: z.object({
      'last-event-id': z
        .string()
        .max(40)
        .optional()
        .meta({ description: 'The ID of the last received record.' }),
    }),
    success: {
      status: 200,
      description: 'Records, until the client disconnects.',
      body: { events: AuditWritten },
    },
    failures: ['unavailable'],
  }),
  verifyAudit: operation({
    method: 'GET',
    path: '/audit/verification',
    tag: 'audit',
    access: 'read',
    command: ['audit verify'],
    summary: 'Verify the audit log',
    description:
      'Follows the hash chain of the database, and reports the first record that was changed, removed, or added by another program.',
    success: { status: 200, description: 'The result for each chain.', body: AuditVerification },
    failures: [],
  }),
};
