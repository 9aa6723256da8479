import type { Egress } from '@toolhive/runtime/egress';
import { PolicyDoubts } from '@toolhive/access/policy-doubts';
import type { StoredRunConfig } from '@toolhive/state/run-configs';
import { recordEgressDenial } from '@toolhive/audit/actions';
import { AuditLog } from '@toolhive/audit/audit-log';
import { Listings } from '../capabilities/listings.ts';
import { NetworkDecisions } from '../network/decisions.ts';
import { RuleWatchers } from '../network/rule-watchers.ts';
import { WorkloadEgress } from '../network/workload-egress.ts';
import { PinStore } from '../pins/pin-store.ts';
import { ToolPinsOfAll } from '../pins/tool-pins.ts';
import { pinningModeOf } from '../pins/mode.ts';
import { History } from '@toolhive/history/history';
import { TrafficOfAll } from '@toolhive/history/traffic';
import type { openState } from './state.ts';

type State = Awaited<ReturnType<typeof openState>>;

/** What servers and their callers may do, and what they did. */
export interface GovernanceWing {
  /** Who did what. */
  audit: AuditLog;
  /** What the egress gateways of all workloads have decided. */
  decisions: NetworkDecisions;
  /** The recorded tool definitions of servers, and the approved ones. */
  pins: ToolPinsOfAll;
  /** What servers listed last. */
  listings: Listings;
  /** The latest calls to each workload. */
  traffic: TrafficOfAll;
  /** Figures of minutes and hours, and the calls of a day. */
  history: History;
  /** Policies that name items that servers do not offer. */
  doubts: PolicyDoubts;
  /** Who waits for changes of network rules. */
  ruleWatchers: RuleWatchers;
  /** Governs the network access of a server with rules. `note` writes to the server's log. */
  egressOf: (stored: StoredRunConfig, note: (text: string) => void) => Egress;
}

export async function openGovernance(state: State, opened: AsyncDisposableStack): Promise<GovernanceWing> {
  const { paths, database, directory, log, now } = state;
  const audit = opened.use(await AuditLog.open(paths, log));
  const isKnown = (id: StoredRunConfig['id']): boolean => directory.runConfigOf(id) !== undefined;
  const decisions = opened.use(new NetworkDecisions(database, paths.earlier.decisions, { log, isKnown }));
  const pins = openPins(state, (id) => doubts.of(id));
  const doubts: PolicyDoubts = new PolicyDoubts(
    (id) => pins.offerOf(id),
    (id, doubt) => pins.note(id, { doubt }, 'a policy names items that the server does not offer'),
  );
  const listings = opened.use(openListings(state));
  const { redaction } = audit;
  const history = opened.use(
    await History.open(paths.history, {
      log,
      now,
      isKnown,
      withoutSecrets: (text) => redaction.withoutSecrets(text),
    }),
  );
  const traffic = opened.use(new TrafficOfAll({ redaction, now, history }));
  const ruleWatchers = new RuleWatchers();
  const egressOf = egressWith(state, { audit, decisions, history, ruleWatchers });
  return { audit, decisions, pins, listings, traffic, history, doubts, ruleWatchers, egressOf };
}

function openPins(
  { database, paths, directory, events, log, now }: State,
  onListed: PolicyDoubts['of'],
): ToolPinsOfAll {
  const pins: ToolPinsOfAll = new ToolPinsOfAll(new PinStore(database, paths.earlier.pins), {
    nameOf: (id) => directory.nameOf(id),
    modeOf(id) {
      const runConfig = directory.runConfigOf(id);
      return runConfig === undefined ? 'off' : pinningModeOf(runConfig);
    },
    onChanges(id, changes) {
      const name = directory.nameOf(id);
      if (name === undefined) return;
      events.emit({ type: 'pins.changed', name, changes: [...changes] });
      const isHeldBack = changes.some(({ change }) => change === 'new' || change === 'changed');
      const pending = pins.pendingOf(id);
      if (isHeldBack && pending > 0 && pins.of(id).isEnforced)
        events.emit({ type: 'approval.requested', name, pending });
    },
    onListed,
    log,
    now,
  });
  return pins;
}

function openListings({ database, paths, directory, events, log, now }: State): Listings {
  return new Listings(database, paths.earlier.listings, {
    onChanges(id, items) {
      const name = directory.nameOf(id);
      if (name !== undefined) events.emit({ type: 'tool.changed', name, items: [...items] });
    },
    log,
    now,
  });
}

function egressWith(
  { directory, events }: State,
  {
    audit,
    decisions,
    history,
    ruleWatchers,
  }: Pick<GovernanceWing, 'audit' | 'decisions' | 'history' | 'ruleWatchers'>,
): GovernanceWing['egressOf'] {
  const connected = {
    decisions,
    history,
    current: (id: StoredRunConfig['id']) => directory.runConfigOf(id),
    watch: ruleWatchers.watch,
    onDenial(name: string, decision: Parameters<typeof recordEgressDenial>[2]): void {
      events.emit({ type: 'network.denied', name, host: decision.host });
      recordEgressDenial(audit, name, decision);
    },
  };
  return (stored, note) => new WorkloadEgress(stored, connected, note);
}
