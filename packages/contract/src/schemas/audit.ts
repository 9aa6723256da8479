import * as z from 'zod';

/** How an audited action ended. */
export const AuditOutcome = z.enum(['success', 'failure', 'denied', 'error']);
export type AuditOutcome = z.infer<typeof AuditOutcome>;

/** The types of calls to a workload, which `event_types` and `exclude_event_types` select from. */
export const auditedCallTypes = [
  'mcp_initialize',
  'mcp_tool_call',
  'mcp_tools_list',
  'mcp_resource_read',
  'mcp_resources_list',
  'mcp_prompt_get',
  'mcp_prompts_list',
  'mcp_notification',
  'mcp_ping',
  'mcp_logging',
  'mcp_completion',
  'mcp_roots_list_changed',
  'mcp_request',
  'http_request',
] as const;

const dateTime = z.string().meta({ format: 'date-time' });
const texts = z.record(z.string(), z.string());

/** One line of the audit log, with its keys in the order of the line. */
export const AuditRecord = z
  .object({
    time: dateTime.meta({ description: 'When the record was written, as RFC 3339.' }),
    level: z.literal('INFO+2'),
    msg: z.literal('audit_event'),
    audit_id: z.string(),
    type: z.string().meta({
      description: `The kind of event: a call (${auditedCallTypes.join(', ')}, sse_connection), api_call, network_denied, secret_access, or audit_gap.`,
    }),
    logged_at: dateTime.meta({ description: 'When the event ended.' }),
    outcome: AuditOutcome,
    component: z.string(),
    source: z
      .object({ type: z.string(), value: z.string(), extra: texts.optional() })
      .meta({ description: 'The origin of the action.' }),
    subjects: texts.meta({
      description: 'The user and the client: user, user_id, client_name, client_version.',
    }),
    target: texts.optional().meta({ description: 'The object: endpoint, method, name, type.' }),
    metadata: z.object({ extra: z.record(z.string(), z.unknown()) }).optional(),
    data: z
      .object({ request: z.unknown().optional(), response: z.unknown().optional() })
      .optional()
      .meta({ description: 'The bodies, redacted. Present only if the audit configuration includes them.' }),
    workload: z.string().optional(),
    previous: z.string().meta({ description: 'The SHA-256 hash of the record before this one.' }),
  })
  .meta({ id: 'AuditRecord' });
export type AuditRecord = z.infer<typeof AuditRecord>;

const NumberedRecord = z
  .object({
    id: z.int().meta({ description: 'The position in the audit log. It only increases.' }),
    record: AuditRecord,
  })
  .meta({ id: 'NumberedAuditRecord' });
export type NumberedAuditRecord = z.infer<typeof NumberedRecord>;

export const AuditRecords = z
  .object({ records: z.array(NumberedRecord) })
  .meta({ id: 'AuditRecords', description: 'Audit records, the oldest first.' });

export const AuditWritten = z
  .object({ type: z.literal('record'), ...NumberedRecord.shape })
  .meta({ id: 'AuditWritten', description: 'A record that was added to the audit log.' });
export type AuditWritten = z.infer<typeof AuditWritten>;

const CheckedChain = z.object({
  place: z.string().meta({ description: 'The database that contains the records.' }),
  records: z.int().meta({ description: 'The number of records that were read.' }),
  broken: z
    .object({
      position: z.int().meta({ description: 'The record ID.' }),
      reason: z.string(),
    })
    .optional()
    .meta({ description: 'The first record that another program has changed, removed, or added.' }),
});
export type CheckedChain = z.infer<typeof CheckedChain>;

export const AuditVerification = z
  .object({ intact: z.boolean(), chains: z.array(CheckedChain) })
  .meta({ id: 'AuditVerification', description: 'Whether the audit records are unchanged.' });
export type AuditVerification = z.infer<typeof AuditVerification>;
