import type { Egress, EgressDecision, Traffic } from '../egress.ts';
import { type OutboundRules, Rules } from '../outbound-rules.ts';

/** A workload's egress that remembers what was decided. */
export class TestEgress implements Egress {
  /** The rules as they were given. */
  outbound: OutboundRules = { ports: [] };
  rules = new Rules(this.outbound);
  decisions: EgressDecision[] = [];
  traffic: Traffic[] = [];
  readonly #watching = new Set<() => void>();

  reset(rules: OutboundRules): void {
    this.change(rules);
    this.decisions = [];
    this.traffic = [];
  }

  change(rules: OutboundRules): void {
    this.outbound = rules;
    this.rules = new Rules(rules);
    for (const changed of this.#watching) changed();
  }

  watchRules = (changed: () => void): Disposable => {
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
