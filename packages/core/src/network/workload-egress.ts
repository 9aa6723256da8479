import { isIP } from 'node:net';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { Egress, EgressDecision, Traffic } from '@toolhive/runtime/egress';
import { isLinkLocalAddress, isLoopbackAddress, refusalOf } from '@toolhive/runtime/addresses';
import { normalizeName } from '@toolhive/runtime/host-patterns';
import { Rules } from '@toolhive/runtime/outbound-rules';
import { networkOf } from '../permissions/network.ts';
import type { NetworkDecisions } from './decisions.ts';

export interface WorkloadEgressOptions {
  decisions: NetworkDecisions;
  /** The run config of a workload as it is now; undefined if there is no such workload any more. */
  current: (name: string) => RunConfig | undefined;
  /** Called for the first denial of each host and port. */
  onDenial: (name: string, decision: EgressDecision) => void;
}

/** How many denials of one server its log and the events tell. */
const maxExplained = 100;

/** The outbound rules of a workload as its run config has them at the moment, and the record of what they decide. */
export class WorkloadEgress implements Egress {
  readonly #runConfig: RunConfig;
  readonly #options: WorkloadEgressOptions;
  readonly #log: (text: string) => void;
  readonly #explained = new Set<string>();
  #known: { runConfig: RunConfig; rules: Rules };

  constructor(runConfig: RunConfig, options: WorkloadEgressOptions, log: (text: string) => void) {
    this.#runConfig = runConfig;
    this.#options = options;
    this.#log = log;
    const grant = networkOf(runConfig);
    const rules = new Rules(grant.kind === 'rules' ? grant.rules : { hosts: [], ports: [] });
    this.#known = { runConfig, rules };
  }

  get rules(): Rules {
    const runConfig = this.#options.current(this.#runConfig.name);
    if (runConfig !== undefined && runConfig !== this.#known.runConfig) {
      const grant = networkOf(runConfig);
      // Another kind of network needs a restart, and until then what applied goes on to apply.
      const rules = grant.kind === 'rules' ? new Rules(grant.rules) : this.#known.rules;
      this.#known = { runConfig, rules };
    }
    return this.#known.rules;
  }

  readonly record = (decision: EgressDecision): ((traffic: Traffic) => void) | undefined => {
    const { name } = this.#runConfig;
    const { decisions, onDenial } = this.#options;
    const isDenied = decision.verdict === 'denied';
    const { isNew } = decisions.record(name, decision, isDenied ? fixFor(name, decision) : undefined);
    if (isDenied) {
      // Both are limited: a server can try any number of names.
      const isExplained = this.#explain(name, decision);
      if (isExplained && isNew) onDenial(name, decision);
    }
    return isDenied ? undefined : (traffic) => decisions.addTraffic(name, decision, traffic);
  };

  /** In the log of the server, where its user looks first. Returns whether the denial was explained now. */
  #explain(name: string, decision: EgressDecision): boolean {
    const place = placeOf(decision);
    if (this.#explained.has(place) || this.#explained.size >= maxExplained) return false;
    this.#explained.add(place);
    const fix = fixFor(name, decision);
    this.#log(`denied ${place}: ${decision.reason}${fix === undefined ? '' : `; to allow it: ${fix}`}`);
    return true;
  }
}

const placeOf = ({ host, port }: EgressDecision): string =>
  port === undefined ? host : host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;

/** The command that allows what was denied; undefined if no rule does. Names come from the server. */
function fixFor(name: string, decision: EgressDecision): string | undefined {
  const { missing = 'nothing', address } = decision;
  if (missing === 'nothing') return undefined;
  // An allowed name may lead to an address that has to be listed itself.
  const host = address ?? decision.host;
  const isListable = isIP(host) === 0 ? normalizeName(host) === host : canBeListed(host);
  return isListable ? allow(name, { ...decision, host }) : undefined;
}

const allow = (name: string, decision: EgressDecision): string =>
  `thv permission allow ${name} ${placeOf(decision)}`;

/**
 * Whether a rule can allow an address, and a denial may suggest that. A server that asks for the credentials of a cloud
 * must not have its user pointed to the command that allows it.
 */
const canBeListed = (address: string): boolean =>
  refusalOf(address, true) === undefined && !isLoopbackAddress(address) && !isLinkLocalAddress(address);
