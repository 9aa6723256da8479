import { invalid } from '@toolhive/contract/failure';
import type {
  KeptMount,
  LearnedMount,
  LearnedRules,
  LearningMode,
  LearningProposal,
  NetworkDecision,
} from '@toolhive/contract/network';
import { mountsInUse } from '@toolhive/contract/mounts-in-use';
import type { PermissionProfile } from '@toolhive/contract/permission-profile';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { RuntimeLimit } from '@toolhive/runtime/runtime';
import type { MountUses } from '../permissions/mount-use.ts';
import { mountsOfRunConfig, withMounts } from '../permissions/mounts.ts';
import { coveringRules, listedHosts } from './covering-rules.ts';
import { maxRemembered } from './decisions.ts';
import { accessOf, withRules } from './permissions.ts';

/** A registry entry that the server of a workload is in. */
interface Entry {
  name: string;
  permissions?: PermissionProfile | undefined;
}

interface Learned extends LearningMode {
  /** All decisions that are recorded of the workload. */
  decisions: readonly NetworkDecision[];
  /** The server's registry entry. */
  entry: Entry | undefined;
  limits: readonly RuntimeLimit[];
  mountUse: MountUses;
}

/** The smallest profile that covers everything that a server has used since learning began. */
export function proposalOf(
  runConfig: RunConfig,
  { since, until, decisions, entry, limits, mountUse }: Learned,
): LearningProposal {
  const own = accessOf({ ...runConfig, learning: undefined }, limits);
  const recent = decisions.filter(
    ({ first_at: first, last_at: last }) => last >= since && (until === undefined || first < until),
  );
  const network = coveringRules(recent, listedHosts(runConfig));
  const compared = entry === undefined ? own : accessOf({ permission_profile: entry.permissions }, limits);
  const mounts = learnedMounts(runConfig, mountUse);
  const reduced = withKept(withLearned(runConfig, network), mountsInUse(mounts));
  return {
    since,
    ...(until === undefined ? {} : { until }),
    network,
    mounts,
    profile: reduced.permission_profile ?? {},
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
  const {
    learning: _,
    learned: _ended,
    isolate_network: isolate,
    permission_profile: profile,
    ...others
  } = runConfig;
  // What went around the gateway would go around the rules.
  const { mode: _mode, ...network } = profile?.network ?? {};
  const isolation = isolate === true ? { isolate_network: true } : {};
  return withRules(
    { ...others, ...isolation, permission_profile: { ...profile, network } },
    { hosts, ports },
  );
}

/** A run config with these mounts. Throws `invalid` for a mount or an access that the workload does not have. */
export function withKept(runConfig: RunConfig, kept: readonly KeptMount[]): RunConfig {
  const granted = new Map(mountsOfRunConfig(runConfig).map((mount) => [mount.target, mount]));
  for (const { target, access } of kept) {
    const mount = granted.get(target);
    if (mount !== undefined && (access === 'read' || !mount.readOnly)) continue;
    throw invalid(
      mount === undefined ? `nothing is mounted at ${target}` : `${target} is mounted for reading only`,
      { hint: 'keep mounts with at most their current access' },
    );
  }
  return withMounts(runConfig, new Map(kept.map(({ target, access }) => [target, access])));
}

function learnedMounts(runConfig: RunConfig, mountUse: MountUses): LearnedMount[] {
  return mountsOfRunConfig(runConfig).map(({ source, target, readOnly }) => {
    const granted = readOnly ? 'read' : 'write';
    const use = Object.hasOwn(mountUse, source) ? mountUse[source] : undefined;
    const gap = use === undefined ? 'nothing was recorded since then' : use.gap;
    const used = use?.written === true && !readOnly ? 'write' : use?.read || use?.written ? 'read' : 'none';
    const unknown = gap === undefined ? {} : { unknown: gap };
    const files = [...(use?.files ?? [])];
    return { source, target, granted, used: gap === undefined ? used : granted, files, ...unknown };
  });
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
