import { checkField } from '@toolhive/contract/failure';
import type { WorkloadCheck } from '@toolhive/contract/preview';
import { formatSource } from '@toolhive/runtime/source';
import type { Core } from '../../core.ts';
import { permissionsOf } from '../../network/permissions.ts';
import { dangersOf } from '../../permissions/consent.ts';
import { warningsOf } from '../../permissions/warnings.ts';
import { checkLaunch, checkRunConfig } from './checks.ts';
import { draftOf } from './draft.ts';
import type { WorkloadRequest } from './draft.ts';
import { refuseForeignHome } from '../homes.ts';
import { buildRunConfig } from './run-config.ts';
import { findSource } from './source.ts';

/**
 * Returns the workload that a request would create, or the result for the workload `edited`. Installs, stores, and
 * starts nothing. Throws like the request itself, except for missing consent and for authentication and policies.
 */
export async function checkWorkload(
  core: Core,
  request: WorkloadRequest,
  { edited, signal }: { edited: string | undefined; signal: AbortSignal },
): Promise<WorkloadCheck> {
  const present = edited === undefined ? undefined : core.workloads.require(edited);
  const draft = draftOf(request, core.settings.current);
  await checkField('/group', () => core.groups.require(draft.group));
  const source = await findSource(core, draft, {
    report: () => {},
    signal,
    isNew: edited === undefined,
  });
  const name = edited ?? draft.name ?? source.defaultName;
  // Only asks whether the name is taken: a reservation would be in the way of the request that follows.
  await checkField('/name', () => core.workloads.reserve(name, present)[Symbol.dispose]());

  const port = draft.port ?? present?.runConfig.port ?? 0;
  const notes: string[] = [];
  const runConfig = buildRunConfig(draft, source, { name, port }, (note) => {
    notes.push(note);
  });
  checkRunConfig(runConfig);
  if (source.kind !== 'local') {
    const isRemote = source.kind === 'remote';
    const risks = dangersOf(runConfig, []);
    return { name, package: isRemote ? source.url.href : source.server, remote: isRemote, risks };
  }
  const { runtime, resolved } = source;
  const mounts = await checkLaunch(core, runConfig, runtime);
  await refuseForeignHome(core, runConfig, runtime);
  const limits = (await runtime.check(signal)).limits;
  return {
    name,
    package: formatSource(resolved.source),
    remote: false,
    runtime: runtime.name,
    permissions: permissionsOf(runConfig, { warnings: warningsOf(runConfig, limits), limits }),
    ...(notes.length === 0 ? {} : { notes }),
    risks: dangersOf(runConfig, mounts).map(({ risk, text }) => ({ risk, text })),
  };
}
