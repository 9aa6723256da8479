import type { Egress, EgressDecision, Traffic } from '../egress.ts';
import type { FromGateways } from './gateway-messages.ts';
import type { Rules } from '../outbound-rules.ts';

type Report = Extract<FromGateways, { type: 'report' }>;

/** How long a report waits for further decisions, after one that was sent at once. */
const INTERVAL_MS = 20;
/** How many different denials fit into a report. The daemon remembers no more of a server either. */
const MAX_DENIALS = 1_000;
/** For how many places the first use is reported at once. */
const MAX_PLACES = 1_000;
/** How many other entries wait for a report. */
const MAX_ENTRIES = 1_000;

/**
 * What a gateway tells the daemon, which decides nothing itself while a server connects. Equal denials become one entry with
 * a count, so that a server cannot keep the daemon busy with them.
 */
export class GatewayReports implements Pick<Egress, 'rules' | 'record'> {
  rules: Rules;
  readonly #gateway: number;
  readonly #send: (report: Report) => void;
  readonly #denials = new Map<string, Report['decisions'][number]>();
  readonly #places = new Set<string>();
  #allowed: Report['decisions'] = [];
  #ended: Report['ended'] = [];
  #names: Report['names'] = [];
  #timer: NodeJS.Timeout | undefined;
  #sentAt = Number.NEGATIVE_INFINITY;
  #connections = 0;

  constructor(gateway: number, rules: Rules, send: (report: Report) => void) {
    this.#gateway = gateway;
    this.rules = rules;
    this.#send = send;
  }

  readonly record = (decision: EgressDecision): ((traffic: Traffic) => void) | undefined => {
    if (decision.verdict === 'denied') {
      this.#countDenial(decision);
      return undefined;
    }
    const connection = ++this.#connections;
    this.#allowed.push({ decision, times: 1, connection });
    if (this.#isNew(decision)) this.flush();
    else this.#sendSoon();
    return (traffic) => {
      this.#ended.push({ connection, ...traffic });
      this.#sendSoon();
    };
  };

  readonly addName = (name: string, address: string): void => {
    this.#names.push([name, address]);
    this.#sendSoon();
  };

  /** Sends what waits. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sentAt = performance.now();
    const decisions = [...this.#allowed, ...this.#denials.values()];
    const [ended, names] = [this.#ended, this.#names];
    this.#allowed = [];
    this.#ended = [];
    this.#names = [];
    this.#denials.clear();
    if (decisions.length + ended.length + names.length === 0) return;
    this.#send({ type: 'report', gateway: this.#gateway, decisions, ended, names });
  }

  /** Whether this is the first use of a place: learning mode can end when the server has the answer, and must know it. */
  #isNew({ host, port }: EgressDecision): boolean {
    const place = `${host} ${port ?? ''}`;
    if (this.#places.has(place) || this.#places.size >= MAX_PLACES) return false;
    this.#places.add(place);
    return true;
  }

  #countDenial(decision: EgressDecision): void {
    const key = `${decision.host} ${decision.port ?? ''} ${decision.reason ?? ''}`;
    const known = this.#denials.get(key);
    if (known !== undefined) known.times += 1;
    else if (this.#denials.size < MAX_DENIALS) this.#denials.set(key, { decision, times: 1 });
    this.#sendSoon();
  }

  /** At once if nothing was sent lately, so that a user sees a decision when the server sees its effect. */
  #sendSoon(): void {
    const waitMs = this.#sentAt + INTERVAL_MS - performance.now();
    const isFull = Math.max(this.#allowed.length, this.#ended.length, this.#names.length) >= MAX_ENTRIES;
    if (waitMs <= 0 || isFull) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), waitMs);
  }
}
