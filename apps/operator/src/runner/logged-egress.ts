import type { Egress, EgressDecision, Traffic } from '@toolhive/runtime/egress';
import { Rules } from '@toolhive/runtime/outbound-rules';
import type { OutboundRules } from '@toolhive/runtime/outbound-rules';
import type { Logger } from 'pino';

/** The outbound rules of one server, with a log line for each decision. */
export class LoggedEgress implements Pick<Egress, 'rules' | 'record'> {
  readonly rules: Rules;
  readonly #log: Logger;

  constructor(rules: OutboundRules, log: Logger) {
    this.rules = new Rules(rules);
    this.#log = log;
  }

  readonly record = (decision: EgressDecision): ((traffic: Traffic) => void) | undefined => {
    if (decision.verdict === 'denied') {
      this.#log.warn(decision, 'outbound connection denied');
      return undefined;
    }
    this.#log.info(decision, 'outbound connection allowed');
    const { host, port } = decision;
    return (traffic) => this.#log.info({ host, port, ...traffic }, 'outbound connection ended');
  };
}
