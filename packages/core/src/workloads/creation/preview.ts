import { homedir } from 'node:os';
import { fieldsOf } from '@toolhive/bundles/user-config';
import type { BundleDescription, InspectBundle } from '@toolhive/contract/bundle';
import { obtainBundle } from './bundle.ts';
import { trustedFor } from './trust.ts';
import { checkField, invalid } from '@toolhive/contract/failure';
import type { WorkloadCheck } from '@toolhive/contract/preview';
import { formatSource } from '@toolhive/runtime/source';
import type { Core } from '../../core.ts';
import type { StateWing } from '../../wings/state.ts';
import type { SupplyWing } from '../../wings/supply.ts';
import { permissionsOf } from '../../network/permissions.ts';
import { checkLocalPorts } from '../../network/local-ports.ts';
import { checkPublishedPorts } from '../../network/published-ports.ts';
import { dangersOf } from '../../permissions/consent.ts';
import { warningsOf } from '../../permissions/warnings.ts';
import { checkLaunch, checkRunConfig } from './checks.ts';
import { withoutEcho } from './create.ts';
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
  const draft = draftOf(withoutEcho(request, present), core.settings.current);
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
  await checkLocalPorts(core, runConfig);
  checkPublishedPorts(core, runConfig);
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

/** Describes a bundle, so that a user can fill in its fields. */
export async function inspectBundle(
  core: StateWing & SupplyWing,
  { source: word, registry_group: group, ca_certificate: certificate }: InspectBundle,
  signal: AbortSignal,
): Promise<BundleDescription> {
  const { source: found } = await core.registry.resolve(word, { runs: 'packages' }, group);
  if (found.kind !== 'bundle') {
    throw invalid(`${word} is not a bundle`, {
      hint: 'name a bundle as mcpb:///PATH or mcpb://https://HOST/PATH',
    });
  }
  const trusted = trustedFor(core.settings, certificate, found);
  const { source, manifest } = await obtainBundle(core, found, { report: () => {}, signal, trusted });
  const { name, display_name: title, version, description, server, tools } = manifest;
  return {
    source: formatSource(source),
    name,
    ...(title === undefined ? {} : { title }),
    version,
    description,
    server_type: server.type,
    tools: tools.map((tool) => tool.name),
    fields: fieldsOf(manifest, homedir()),
  };
}
