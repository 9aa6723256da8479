import type { Egress, EgressDecision, Traffic } from '../egress.ts';
import { type OutboundRules, Rules } from '../outbound-rules.ts';

/** A workload's egress that remembers what was decided. */
export class TestEgress implements Egress {
  /** The rules as they were given. */
  outbound: OutboundRules;
  rules: Rules;
  decisions: EgressDecision[] = [];
  traffic: Traffic[] = [];
  readonly #watching = new Set<() => Promise<void>>();

  constructor(outbound: OutboundRules = { ports: [] }) {
    this.outbound = outbound;
    this.rules = new Rules(outbound);
  }

  async reset(rules: OutboundRules): Promise<void> {
    await this.change(rules);
    this.decisions = [];
    this.traffic = [];
  }

  /** Returns when the rules apply. */
  async change(rules: OutboundRules): Promise<void> {
    this.outbound = rules;
    this.rules = new Rules(rules);
    await Promise.all([...this.#watching].map((changed) => changed()));
  }

  watchRules = (changed: () => Promise<void>): Disposable => {
    this.#watching.add(changed);
    return { [Symbol.dispose]: () => void this.#watching.delete(changed) };
  };

  record = (decision: EgressDecision) => {
    this.decisions.push(decision);
    return (traffic: Traffic): void => void this.traffic.push(traffic);
  };

  get denied(): string[] {
    const denials = this.decisions.filter(({ verdict }) => verdict === 'denied');
    return denials.map(
      ({ host, port, reason }) => `${host}${port === undefined ? '' : `:${port}`}: ${reason}`,
    );
  }
}
