import { isIP } from 'node:net';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { Egress, EgressDecision, Traffic } from '@toolhive/runtime/egress';
import { isLoopbackAddress, refusalOf } from '@toolhive/runtime/addresses';
import { normalizeName } from '@toolhive/runtime/host-patterns';
import { Rules } from '@toolhive/runtime/outbound-rules';
import type { History } from '@toolhive/history/history';
import { networkOf } from '../permissions/network.ts';
import type { StoredRunConfig } from '@toolhive/state/run-configs';
import type { WorkloadId } from '@toolhive/state/workload-id';
import type { NetworkDecisions } from './decisions.ts';

export interface WorkloadEgressOptions {
  decisions: NetworkDecisions;
  history: History;
  /** The workload's current run config. Undefined if the workload no longer exists. */
  current: (id: WorkloadId) => RunConfig | undefined;
  /** Calls back after each change of a workload, until disposal. */
  watch: (id: WorkloadId, changed: () => Promise<void>) => Disposable;
  /** Called for the first denial of each host and port. */
  onDenial: (name: string, decision: EgressDecision) => void;
}

/** How many denials of one server its log and the events tell. */
const maxExplained = 100;

/** A workload's current outbound rules from its run config, and the record of their decisions. */
export class WorkloadEgress implements Egress {
  readonly #id: WorkloadId;
  readonly #runConfig: RunConfig;
  readonly #options: WorkloadEgressOptions;
  readonly #log: (text: string) => void;
  readonly #explained = new Set<string>();
  #known: { runConfig: RunConfig; rules: Rules };

  constructor(
    { id, runConfig }: StoredRunConfig,
    options: WorkloadEgressOptions,
    log: (text: string) => void,
  ) {
    this.#id = id;
    this.#runConfig = runConfig;
    this.#options = options;
    this.#log = log;
    const grant = networkOf(runConfig);
    const rules = new Rules(grant.kind === 'rules' ? grant.rules : { hosts: [], ports: [] });
    this.#known = { runConfig, rules };
  }

  get rules(): Rules {
    const runConfig = this.#options.current(this.#id);
    if (runConfig !== undefined && runConfig !== this.#known.runConfig) {
      const grant = networkOf(runConfig);
      // Another kind of network needs a restart. Until then, the previous rules apply.
      const rules = grant.kind === 'rules' ? new Rules(grant.rules) : this.#known.rules;
      this.#known = { runConfig, rules };
    }
    return this.#known.rules;
  }

  readonly watchRules = (changed: () => Promise<void>): Disposable => {
    let { rules } = this;
    let applied = Promise.resolve();
    return this.#options.watch(this.#id, async () => {
      const before = rules;
      ({ rules } = this);
      if (rules !== before) applied = changed();
      await applied; // also for others that wait for the same change
    });
  };

  readonly record = (decision: EgressDecision, times = 1): ((traffic: Traffic) => void) | undefined => {
    const { name } = this.#runConfig;
    const { decisions, history, onDenial } = this.#options;
    const isDenied = decision.verdict === 'denied';
    const fix = isDenied ? fixFor(name, decision) : undefined;
    const { isNew } = decisions.record(this.#id, decision, fix, times);
    history.countConnections(this.#id, decision.host, isDenied, times);
    if (isDenied) {
      // Both are limited: a server can try any number of names.
      const isExplained = this.#explain(name, decision);
      if (isExplained && isNew) onDenial(name, decision);
    }
    if (isDenied) return undefined;
    return (traffic) => {
      decisions.addTraffic(this.#id, decision, traffic);
      history.countBytes(this.#id, decision.host, traffic.sent + traffic.received);
    };
  };

  /** Writes to the server's log, where its user looks first. Returns whether this call explained the denial. */
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

/** The command that allows the denied connection. Undefined if no rule does. The server chooses the names. */
function fixFor(name: string, decision: EgressDecision): string | undefined {
  const { missing = 'nothing', address } = decision;
  if (missing === 'nothing') return undefined;
  // An allowed name may resolve to an address that also needs a rule.
  const host = address ?? decision.host;
  const isListable = isIP(host) === 0 ? normalizeName(host) === host : canBeListed(host);
  return isListable ? allow(name, { ...decision, host }) : undefined;
}

const allow = (name: string, decision: EgressDecision): string =>
  `thv permission allow ${name} ${placeOf(decision)}`;

/**
 * Whether a rule can allow an address, and a denial may suggest that rule. A server that asks for cloud credentials
 * must not direct its user to the command that allows the access.
 */
const canBeListed = (address: string): boolean =>
  refusalOf(address, true) === undefined && !isLoopbackAddress(address);
