import type { MissingRule, Rules } from './outbound-rules.ts';

/** What the outbound network access of one workload is governed by. */
export interface Egress {
  /** The current rules. A change applies to the next lookup and connection. */
  readonly rules: Rules;
  /** Calls back after each change of the rules, until disposal. The promise settles when the change applies. Never rejects. */
  watchRules: (changed: () => Promise<void>) => Disposable;
  /**
   * Receives each decision, with how often it was made, and returns the callback for the end of an allowed connection. Must
   * not throw.
   */
  record: (decision: EgressDecision, times?: number) => ((traffic: Traffic) => void) | undefined;
}

export interface EgressDecision {
  /** The requested name, or the address if the server used no name. */
  host: string;
  /** Absent for a lookup. */
  port?: number;
  verdict: 'allowed' | 'denied';
  /** The rule that allowed the connection. */
  rule?: string;
  /** The reason for the denial. */
  reason?: string;
  /** The missing rule. */
  missing?: MissingRule;
  /** The address of the name, if that is why. */
  address?: string;
}

/** The byte counts of a connection, from the server's point of view. */
export interface Traffic {
  sent: number;
  received: number;
}

/**
 * The ports on which the gateway refuses and records connections that no rule allows. A connection to any other port
 * also fails immediately, but without a record.
 */
export const alwaysListening: ReadonlySet<number> = new Set([
  22, 25, 80, 443, 587, 3306, 5432, 6379, 8080, 8443, 9200, 27017,
]);
