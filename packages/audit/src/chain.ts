import { hash } from 'node:crypto';

/** What the first record of a chain names as its predecessor. */
export const chainStart = '0'.repeat(64);

/** The hash of a line, which the next record of its chain contains. */
export function hashOf(line: string): string {
  return hash('sha256', line);
}

/** Adds the hash of the predecessor to a record, as its last member. */
export function chained(record: string, previous: string): string {
  return `${record.slice(0, -1)},"previous":"${previous}"}`;
}

/** Returns the hash that a line names as its predecessor, undefined if the line is not a record. */
export function previousOf(line: string): string | undefined {
  return /,"previous":"([0-9a-f]{64})"\}$/.exec(line)?.[1];
}
