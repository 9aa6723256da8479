import { invalid } from '@toolhive/contract/failure';
import type { LearnedRules, LearningProposal, NetworkDecision } from '@toolhive/contract/network';
import type { PermissionProfile } from '@toolhive/contract/permission-profile';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { RuntimeLimit } from '@toolhive/runtime/runtime';
import { coveringRules, listedHosts } from './covering-rules.ts';
import { maxRemembered } from './decisions.ts';
import { accessOf, withRules } from './permissions.ts';

/** A registry entry that the server of a workload is in. */
interface Entry {
  name: string;
  permissions?: PermissionProfile | undefined;
}

interface Learned {
  since: string;
  /** All decisions that are recorded of the workload. */
  decisions: readonly NetworkDecision[];
  /** The server's registry entry. */
  entry: Entry | undefined;
  limits: readonly RuntimeLimit[];
}

/** The smallest profile that covers everything that a server has reached since learning began. */
export function proposalOf(
  runConfig: RunConfig,
  { since, decisions, entry, limits }: Learned,
): LearningProposal {
  const own = accessOf({ ...runConfig, learning: undefined }, limits);
  const recent = decisions.filter(({ last_at: last }) => last >= since);
  const network = coveringRules(recent, listedHosts(runConfig));
  const compared = entry === undefined ? own : accessOf({ permission_profile: entry.permissions }, limits);
  return {
    since,
    network,
    profile: withLearned(runConfig, network).permission_profile ?? {},
    compared_with: { ...(entry === undefined ? {} : { registry_entry: entry.name }), network: compared },
    hosts: differenceOf(network.hosts, compared.hosts ?? []),
    ports: differenceOf(network.ports, compared.ports ?? []),
    // Only the oldest decisions are dropped, so as long as an earlier decision exists, the record is complete.
    complete: recent.length < maxRemembered,
  };
}

/** A run config that has left learning mode and has the rules from now on. Throws `invalid` if they make no sense. */
export function withLearned(runConfig: RunConfig, { hosts, ports }: LearnedRules): RunConfig {
  if (hosts.length > 0 && ports.length === 0) {
    throw invalid('ports is empty, but hosts is not', { hint: 'add a port from the proposal' });
  }
  const { learning: _, isolate_network: isolate, permission_profile: profile, ...others } = runConfig;
  // What went around the gateway would go around the rules.
  const { mode: _mode, ...network } = profile?.network ?? {};
  const isolation = isolate === true ? { isolate_network: true } : {};
  return withRules(
    { ...others, ...isolation, permission_profile: { ...profile, network } },
    { hosts, ports },
  );
}

/** Throws `invalid` for a host or a port that is not proposed. */
export function requireProposed(chosen: LearnedRules, { network }: LearningProposal): void {
  const foreign = [
    ...chosen.hosts.filter((host) => !network.hosts.includes(host)),
    ...chosen.ports.filter((port) => !network.ports.includes(port)),
  ];
  if (foreign.length === 0) return;
  throw invalid(`${foreign.join(', ')} was not reached in learning mode`, {
    hint: 'choose from the proposal, and allow other hosts afterwards: thv permission allow NAME HOST',
  });
}

function differenceOf<Item>(after: readonly Item[], before: readonly Item[]) {
  return {
    added: after.filter((item) => !before.includes(item)),
    removed: before.filter((item) => !after.includes(item)),
    kept: after.filter((item) => before.includes(item)),
  };
}
