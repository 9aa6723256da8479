import { randomUUID } from 'node:crypto';
import type { AuditEntry, AuditedBody } from '@toolhive/proxy/audit';
import type { StoredRecord } from './audit-store.ts';
import type { Redaction } from './redaction.ts';

/** Converts an entry to one line without secrets. Control characters are escaped. */
export function storedRecordOf(given: AuditEntry, redaction: Redaction): StoredRecord {
  const atMs = Date.now();
  const at = timeOf(atMs);
  const { bodies, workload } = given;
  const { type, outcome, component, source, subjects, target, metadata } = redaction.hasSecrets
    ? redaction.withoutSecrets(withoutBodies(given))
    : given;
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

/** Bodies are cleaned in their own way, and the workload is named as it is. */
function withoutBodies({ bodies: _bodies, workload: _workload, ...others }: AuditEntry): AuditEntry {
  return others;
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
  return isSorted(map)
    ? map
    : Object.fromEntries(Object.entries(map).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** A loop, because this runs for every record and keys are nearly always in order. */
function isSorted(map: Record<string, unknown>): boolean {
  let before = '';
  for (const key of Object.keys(map)) {
    if (key < before) return false;
    before = key;
  }
  return true;
}
