import { randomUUID } from 'node:crypto';
import type { AuditEntry, AuditedBody } from '@toolhive/proxy/audit';
import type { StoredRecord } from './audit-store.ts';
import type { Redaction } from './redaction.ts';

/** Converts an entry to one line without secrets. Control characters are escaped. */
export function storedRecordOf(
  { bodies, workload, ...given }: AuditEntry,
  redaction: Redaction,
): StoredRecord {
  const atMs = Date.now();
  const at = timeOf(atMs);
  const { type, outcome, component, source, subjects, target, metadata } = redaction.withoutSecrets(given);
  const record = {
    time: at,
    level: 'INFO+2',
    msg: 'audit_event',
    audit_id: randomUUID(),
    type,
    logged_at: at,
    outcome,
    component,
    source,
    subjects: sorted(subjects),
    target: target === undefined ? undefined : sorted(target),
    metadata: metadata === undefined ? undefined : { extra: sorted(metadata.extra) },
    data: bodies === undefined ? undefined : dataOf(bodies, redaction),
    workload,
  };
  return {
    atMs,
    text: JSON.stringify(record),
    workload,
    type,
    outcome,
    user: subjects['user'] ?? '',
    userId: subjects['user_id'] ?? '',
  };
}

let latest = { atMs: 0, text: '' };

/** Formats a time. Calls in the same millisecond share the text. */
function timeOf(atMs: number): string {
  if (latest.atMs !== atMs) latest = { atMs, text: new Date(atMs).toISOString() };
  return latest.text;
}

function dataOf(
  { request, response }: NonNullable<AuditEntry['bodies']>,
  redaction: Redaction,
): Record<string, unknown> {
  return {
    ...(request === undefined ? {} : { request: bodyOf(request, redaction) }),
    ...(response === undefined ? {} : { response: bodyOf(response, redaction) }),
  };
}

function bodyOf(body: AuditedBody, redaction: Redaction): unknown {
  if (typeof body === 'number') return { omitted: 'larger than max_data_size', size_bytes: body };
  try {
    return redaction.clean(JSON.parse(body));
  } catch {
    return { omitted: 'not JSON', size_bytes: Buffer.byteLength(body) };
  }
}

/** The original sorts the keys of maps. */
function sorted<Value>(map: Record<string, Value>): Record<string, Value> {
  const keys = Object.keys(map);
  if (keys.every((key, index) => index === 0 || (keys[index - 1] ?? '') < key)) return map;
  return Object.fromEntries(Object.entries(map).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
