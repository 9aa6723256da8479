import { randomUUID } from 'node:crypto';
import { escaped } from '@toolhive/contract/printable';
import type { AuditEntry } from '@toolhive/proxy/audit';
import { nameOfUser } from './audit-log.ts';
import type { AuditSink } from './audit-config.ts';
import { storedRecordOf } from './audit-record.ts';
import { chainStart, chained, hashOf } from './chain.ts';
import { Redaction } from './redaction.ts';

/**
 * Writes audit events as lines, for a log collector. Each process has its own chain of hashes, because several pods of one
 * server write at the same time. A record names its pod, its chain, and its number there.
 */
export class StdoutAudit implements AuditSink {
  readonly redaction = new Redaction();
  readonly localUser = nameOfUser();
  readonly #write: (line: string) => void;
  readonly #pod: string;
  readonly #chain = randomUUID();
  #number = 0;
  #previous = chainStart;

  constructor(write: (line: string) => void, pod: string) {
    this.#write = write;
    this.#pod = pod;
  }

  record(entry: AuditEntry): void {
    const { text } = storedRecordOf(entry, this.redaction);
    const place = JSON.stringify({ pod: this.#pod, chain: this.#chain, number: ++this.#number });
    // The hash is that of the line as written.
    const line = escaped(chained(`${text.slice(0, -1)},${place.slice(1)}`, this.#previous));
    this.#previous = hashOf(line);
    this.#write(`${line}\n`);
  }

  recordDenial(entry: AuditEntry): void {
    this.record(entry);
  }
}
