import { ThvError, conflict } from '@toolhive/contract/failure';
import type { WorkloadUpdate } from '@toolhive/contract/update';
import type { CreatedWorkload } from '@toolhive/contract/workload';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { PrepareOptions, Runtime } from '@toolhive/runtime/runtime';
import { formatSource, isLocalPath, isRepository } from '@toolhive/runtime/source';
import type { InstallableSource, PackageSource } from '@toolhive/runtime/source';
import type { Core } from '../../core.ts';
import type { StateWing } from '../../wings/state.ts';
import type { SupplyWing } from '../../wings/supply.ts';
import { isYoung } from '@toolhive/registry/package-age';
import { installationSettings } from '@toolhive/state/values';
import { packageSourceOf } from '../../supervision/launch.ts';
import { editWorkload } from '../creation/create.ts';
import { isRemote, packageOf } from '../../run-config/kinds.ts';
import { trustedFor } from '../creation/trust.ts';
import { findBundleUpdate, requireBundleConfig } from './bundle.ts';
import { upgradeChanges } from './changes.ts';
import { isNewer } from './version-order.ts';

type Call = Pick<PrepareOptions, 'report' | 'signal'>;

/** Looks up a newer version of a workload's package, which lists show from then on. Installs nothing. */
export async function findUpdate(
  core: Core,
  name: string,
  options: Call & { withChanges?: boolean },
): Promise<WorkloadUpdate> {
  const { id } = core.workloads.require(name);
  const update = await lookUpUpdate(core, name, options);
  const { newest: version, reason } = update;
  if (
    reason === undefined &&
    core.workloads.byId(id) !== undefined &&
    core.knownUpdates.remember(id, update) &&
    version !== undefined
  )
    core.events.emit({ type: 'update.found', name, version });
  return update;
}

async function lookUpUpdate(
  core: Core,
  name: string,
  { withChanges = false, ...call }: Call & { withChanges?: boolean },
): Promise<WorkloadUpdate> {
  const { id, runConfig } = core.workloads.require(name);
  const common = { name, package: packageOf(runConfig) };
  try {
    const source = upgradable(runConfig);
    if (source.kind === 'bundle') return { ...common, ...(await findBundleUpdate(core, name, source, call)) };
    const { version: current = '' } = source;
    const { runtime, options } = await lookUpWith(core, runConfig, source, call);
    const { version: newest, publishedAt } = await runtime.newest(source, options);
    // Commits have no order.
    const outdated = isRepository(source) ? newest !== current : isNewer(newest, current);
    const upgrade = { id, runtime, runConfig, from: source, to: { ...source, version: newest } };
    return {
      ...common,
      current,
      newest,
      ...(publishedAt === undefined ? {} : { published_at: publishedAt }),
      outdated,
      young: outdated && isYoung(core.settings.current, publishedAt),
      ...(outdated && withChanges ? { changes: await upgradeChanges(core, upgrade, options) } : {}),
    };
  } catch (error) {
    // A missing or unreadable package must not hide the results for others.
    if (!(error instanceof ThvError && lookupFailures.has(error.kind))) throw error;
    return { ...common, outdated: false, young: false, reason: error.message };
  }
}

const lookupFailures: ReadonlySet<string> = new Set(['unsupported', 'unavailable', 'not-found', 'conflict']);

/**
 * Switches a workload's package to another version, with the same permissions and settings. The workload runs until
 * the version is installed. Tool approvals stay, so changed tools wait for approval.
 */
export async function upgradeWorkload(
  core: Core,
  name: string,
  version: string,
  call: Call,
): Promise<CreatedWorkload> {
  const { runConfig } = core.workloads.require(name);
  const source = upgradable(runConfig);
  if (source.kind === 'bundle') await requireBundleConfig(core, { ...source, version }, runConfig, call);
  return editWorkload(core, name, { ...runConfig, image: formatSource({ ...source, version }) }, call);
}

/** A workload's package. Throws `conflict` if its version does not come from a package registry. */
function upgradable(runConfig: RunConfig): InstallableSource {
  const { name } = runConfig;
  if (isRemote(runConfig)) throw conflict(`${name} is a remote server, so ToolHive cannot upgrade it`);
  if (runConfig.built_in !== undefined)
    throw conflict(`${name} is part of ToolHive and is upgraded with ToolHive`);
  const source = packageSourceOf(runConfig);
  if (source.kind === 'image') {
    throw conflict(`${name} runs a container image, and ToolHive does not look up newer images`);
  }
  if (isLocalPath(source)) throw conflict(`${name} runs a local package, which has no versions`);
  return source;
}

/** A workload's runtime, if it supports version lookups, and the lookup options. */
async function lookUpWith(
  core: StateWing & SupplyWing,
  { runtime: chosen }: RunConfig,
  source: PackageSource,
  call: Call,
): Promise<{ runtime: Runtime & Required<Pick<Runtime, 'newest'>>; options: PrepareOptions }> {
  const runtime = await core.runtimes.choose(call.signal);
  if (!looksUp(runtime) || (chosen !== undefined && chosen !== runtime.name)) {
    throw new ThvError(
      'unsupported',
      'newer versions are only looked up with the runtime that new workloads use',
    );
  }
  const trusted = trustedFor(core.settings, undefined, source);
  return { runtime, options: { ...call, ...installationSettings(core.settings), trusted } };
}

const looksUp = (runtime: Runtime): runtime is Runtime & Required<Pick<Runtime, 'newest'>> =>
  runtime.newest !== undefined;
