import type { MissingRule, Rules } from './outbound-rules.ts';

/** What the outbound network access of one workload is governed by. */
export interface Egress {
  /** The current rules. A change applies to the next lookup and connection. */
  readonly rules: Rules;
  /** Receives each decision, and returns what receives the end of an allowed connection. Must not throw. */
  record: (decision: EgressDecision) => ((traffic: Traffic) => void) | undefined;
}

export interface EgressDecision {
  /** The name that was looked up or connected to, or the address if there was no name. */
  host: string;
  /** Absent for a lookup. */
  port?: number;
  verdict: 'allowed' | 'denied';
  /** The rule that allowed it. */
  rule?: string;
  /** Why it was denied. */
  reason?: string;
  /** What the rules would need to allow it. */
  missing?: MissingRule;
  /** The address of the name, if that is why. */
  address?: string;
}

/** Bytes of a connection, as the server sees it. */
export interface Traffic {
  sent: number;
  received: number;
}

/**
 * Ports on which the gateway refuses what no rule allows, so that the attempt is recorded. A connection to any other port
 * fails at once, too, but leaves no record.
 */
export const alwaysListening: ReadonlySet<number> = new Set([
  22, 25, 80, 443, 587, 3306, 5432, 6379, 8080, 8443, 9200, 27017,
]);
