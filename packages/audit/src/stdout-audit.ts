import type { AuditEntry } from '@toolhive/proxy/audit';
import { nameOfUser } from './audit-log.ts';
import type { AuditSink } from './audit-config.ts';
import { storedRecordOf } from './audit-record.ts';
import { Redaction } from './redaction.ts';

/** Writes audit events as lines, for a log collector. The collector owns order and retention, so lines have no hashes. */
export class StdoutAudit implements AuditSink {
  readonly redaction = new Redaction();
  readonly localUser = nameOfUser();
  readonly #write: (line: string) => void;

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  record(entry: AuditEntry): void {
    this.#write(`${storedRecordOf(entry, this.redaction).text}\n`);
  }

  recordDenial(entry: AuditEntry): void {
    this.record(entry);
  }
}
