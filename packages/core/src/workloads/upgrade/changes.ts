import { ThvError } from '@toolhive/contract/failure';
import type { DependencyChange, UpgradeChanges } from '@toolhive/contract/update';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { Artifact, PrepareOptions, Runtime } from '@toolhive/runtime/runtime';
import { formatSource, parseSource } from '@toolhive/runtime/source';
import type { PackageSource } from '@toolhive/runtime/source';
import type { GovernanceWing } from '../../wings/governance.ts';
import type { SupplyWing } from '../../wings/supply.ts';
import type { WorkloadId } from '@toolhive/state/workload-id';

export interface Upgrade {
  id: WorkloadId;
  runtime: Runtime;
  runConfig: RunConfig;
  from: PackageSource;
  to: PackageSource;
}

/** What an upgrade would change, as far as that is known before anything of the new version is installed or runs. */
export async function upgradeChanges(
  core: GovernanceWing & SupplyWing,
  upgrade: Upgrade,
  options: PrepareOptions,
): Promise<UpgradeChanges> {
  const { runtime, from, to } = upgrade;
  const [before, after] = [await runtime.contents?.(from), await runtime.preview?.(to, options)];
  const [known] = after?.artifacts ?? [];
  const provenance =
    after === undefined || known?.integrity === ''
      ? undefined
      : await core.packages.lookUp(to, after, options);
  const previous = core.packages.find(from)?.provenance;
  return {
    ...(await registryChanges(core, upgrade)),
    ...(before === undefined || after === undefined
      ? {}
      : { dependencies: dependencyChanges(before.artifacts.slice(1), after.artifacts.slice(1)) }),
    provenance: {
      ...(previous === undefined ? {} : { current: previous }),
      ...(provenance === undefined ? {} : { newest: provenance }),
    },
    warnings: [
      ...(provenance?.status === 'failed'
        ? [`WARNING: the provenance of this version is invalid, so it is not installed: ${provenance.reason}`]
        : []),
      ...(after === undefined ? [] : core.packages.compare(to, provenance)),
      ...core.packages.changedIn(to, after),
    ],
  };
}

/** The tools and hosts in the registry entry of exactly the new version, compared with those of the workload. */
async function registryChanges(
  core: GovernanceWing & SupplyWing,
  { id, runConfig, to }: Upgrade,
): Promise<Pick<UpgradeChanges, 'tools' | 'hosts'>> {
  const entry = Object.values(core.registry.current.servers).find((candidate) =>
    [candidate.image, candidate.package?.source].some((text) => isSource(text, to)),
  );
  if (entry === undefined) return {};
  const { items } = await core.pins.of(id).describe();
  const known = items
    .filter(({ kind, state }) => kind === 'tool' && state !== 'removed')
    .map(({ name }) => name);
  const allowed = runConfig.permission_profile?.network?.outbound?.allow_host ?? [];
  const wanted = entry.permissions?.network?.outbound?.allow_host ?? [];
  return {
    ...(known.length === 0 ? {} : { tools: difference(known, entry.tools) }),
    hosts: difference(allowed, wanted),
  };
}

function isSource(text: string | undefined, source: PackageSource): boolean {
  try {
    return text !== undefined && formatSource(parseSource(text)) === formatSource(source);
  } catch (error) {
    if (error instanceof ThvError) return false; // others write registries
    throw error;
  }
}

function difference(
  before: readonly string[],
  after: readonly string[],
): { added: string[]; removed: string[] } {
  return {
    added: after.filter((one) => !before.includes(one)),
    removed: before.filter((one) => !after.includes(one)),
  };
}

/** A name can be there in several versions. */
function dependencyChanges(before: readonly Artifact[], after: readonly Artifact[]): DependencyChange[] {
  const [old, now] = [versionsOf(before), versionsOf(after)];
  const names = [...new Set([...old.keys(), ...now.keys()])].toSorted();
  return names.flatMap((name) => {
    const [from, to] = [old.get(name), now.get(name)];
    if (from === to) return [];
    return [{ name, ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }];
  });
}

function versionsOf(artifacts: readonly Artifact[]): Map<string, string> {
  const groups = Map.groupBy(artifacts, ({ name }) => name);
  return new Map(
    [...groups].map(([name, all]) => [
      name,
      [...new Set(all.map(({ version }) => version))].toSorted().join(', '),
    ]),
  );
}
