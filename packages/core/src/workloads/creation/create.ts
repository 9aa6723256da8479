import { cancelled, checkField, invalid } from '@toolhive/contract/failure';
import { withoutEchoedHeaders } from '@toolhive/contract/header-forward';
import { isOriginalForm } from '@toolhive/contract/original-form';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { CreatedWorkload } from '@toolhive/contract/workload';
import type { PinnedMount } from '@toolhive/runtime/mount-source';
import type { PackageLock, Progress } from '@toolhive/runtime/runtime';
import { formatSource, isLocalPath } from '@toolhive/runtime/source';
import type { ServerSource } from '@toolhive/runtime/source';
import type { Core } from '../../core.ts';
import type { SupplyWing } from '../../wings/supply.ts';
import type { WorkloadsWing } from '../../wings/workloads.ts';
import { dangersOf, requireConsent } from '../../permissions/consent.ts';
import type { Consent } from '../../permissions/consent.ts';
import type { Danger } from '../../permissions/mount-warnings.ts';
import { withoutUnacceptedMounts, withoutUnacceptedSettings } from '../../permissions/narrowing.ts';
import { mountsOfRunConfig } from '../../permissions/mounts.ts';
import { localSourceOf } from '../../permissions/local-source.ts';
import type { ImageVerification } from '@toolhive/contract/provenance';
import { installationSettings } from '@toolhive/state/values';
import { packageSourceOf } from '../../supervision/launch.ts';
import type { Supervisor } from '../../supervision/supervisor.ts';
import { buildRunConfig } from './run-config.ts';
import { accessSettings } from './access-settings.ts';
import { checkLaunch, checkRunConfig } from './checks.ts';
import { isIsolated } from '../../permissions/network.ts';
import { draftOf } from './draft.ts';
import type { Draft, WorkloadRequest } from './draft.ts';
import { withRegistryHosts } from './entry-address.ts';
import { refuseForeignHome } from '../homes.ts';
import { chooseAgain, choosePort, keepOrChoosePort } from './port.ts';
import { checkLocalPorts } from '../../network/local-ports.ts';
import { checkPublishedPorts } from '../../network/published-ports.ts';
import { withLearningOf } from '../../run-config/learning.ts';
import { requireRevision } from '../revision.ts';
import { findSource } from './source.ts';
import type { LocalSource, WorkloadSource } from './source.ts';
import type { Prepared } from '../workloads.ts';

interface Unprepared {
  runConfig: RunConfig;
  source: WorkloadSource;
  consent: Consent;
  imageVerification: ImageVerification;
}

interface Call {
  report: Progress;
  signal: AbortSignal;
  lock?: PackageLock | undefined;
  /** Whether the request may come from a client of the original, which cannot ask the user for consent. */
  mayBeOriginal?: boolean | undefined;
}

/**
 * Creates a workload and returns while it is starting. The workload status reports when it is ready. Installs the
 * server first, so that a request for a missing server leaves nothing behind.
 */
export async function createWorkload(
  core: Core,
  request: WorkloadRequest,
  call: Call,
): Promise<CreatedWorkload> {
  const draft = draftOf(withoutEcho(request), core.settings.current);
  await checkField('/group', () => core.groups.require(draft.group));
  const source = await findSource(core, draft, { ...call, isNew: true });

  const name = draft.name ?? source.defaultName;
  using reservation = await checkField('/name', () => core.workloads.reserve(name)); // throws conflict if the name is taken
  const chosen = await checkField(portField(draft), () => choosePort(draft, reservation));

  const access = await accessSettings(core.secrets, request, name);
  const notes: string[] = [];
  const note = (text: string): void => {
    notes.push(text);
  };
  const runConfig = { ...buildRunConfig(draft, source, { name, ...chosen }, note), ...access };
  const consent = { accepted: acceptedIn(draft), present: [], narrows: narrows(request, call) };
  const prepared = await prepare(
    core,
    { runConfig, source, consent, imageVerification: draft.imageVerification },
    call,
  ).catch((error: unknown) => {
    if (core.workloads.find(name) === undefined) core.progress.abandoned(name);
    throw error;
  });
  for (const text of notes) call.report(text);
  const ready = await chooseAgain(prepared.runConfig, reservation);
  await core.workloads.add({ ...prepared, runConfig: ready });
  return { name, port: ready.port };
}

/**
 * Replaces the run config of a workload, except for its name and, unless another port is requested, its port. The
 * workload continues to run until the new server is installed. Throws `precondition-failed` if the workload is not at a
 * revision that `ifMatch` names.
 */
export async function editWorkload(
  core: Core,
  name: string,
  request: WorkloadRequest,
  { ifMatch, ...call }: Call & { ifMatch?: string | undefined },
): Promise<CreatedWorkload> {
  const supervisor = core.workloads.require(name);
  requireRevision(supervisor.runConfig, ifMatch);
  const draft = draftOf(withoutEcho(request, supervisor), core.settings.current);
  await checkField('/group', () => core.groups.require(draft.group));
  const source = await findSource(core, draft, { ...call, isNew: false });

  using reservation = core.workloads.reserve(name, supervisor); // throws conflict during another change
  const chosen = await checkField(portField(draft), () =>
    keepOrChoosePort(draft, reservation, supervisor.runConfig),
  );

  const { registry_hosts } = supervisor.runConfig;
  const access = await accessSettings(core.secrets, request, name, supervisor.runConfig);
  const asked = withRegistryHosts(
    { ...buildRunConfig(draft, source, { name, ...chosen }), ...access },
    registry_hosts,
  );
  const built = withUnchangedIsolation(asked, draft, supervisor);
  const runConfig = withLearningOf(built, supervisor.runConfig);
  const consent = {
    accepted: acceptedIn(draft),
    present: await presentDangers(core, supervisor),
    narrows: narrows(request, call),
  };
  const prepared = await prepare(
    core,
    { runConfig, source, consent, imageVerification: draft.imageVerification },
    call,
  );
  requireRevision(supervisor.runConfig, ifMatch); // some changes need no reservation
  await core.workloads.change(supervisor, prepared);
  return { name, port: chosen.port };
}

/** A request without the headers that only repeat a description of the workload, or of another one. */
export function withoutEcho(request: WorkloadRequest, present?: Supervisor): WorkloadRequest {
  if (request.schema_version !== undefined) return request;
  const headers = present && (present.runConfig.remote_auth_config?.headers ?? []);
  return withoutEchoedHeaders(request, headers);
}

function portField({ settings }: Draft): string {
  return settings.kind === 'request' ? '/proxy_port' : '/port';
}

/** The user writes a request, and has chosen its secrets and hosts. A run config may come from others. */
function acceptedIn({ settings, acceptedRisks }: Draft): Consent['accepted'] {
  return settings.kind === 'request' ? [...acceptedRisks, 'send-secrets'] : acceptedRisks;
}

const narrows = (request: WorkloadRequest, { mayBeOriginal }: Call): boolean =>
  mayBeOriginal === true && isOriginalForm(request);

/**
 * Clients can send back a workload description unchanged. Its isolation value also depends on the machine, and must
 * not become an explicit choice.
 */
function withUnchangedIsolation(
  built: RunConfig,
  { settings }: Draft,
  { runConfig, limits }: Supervisor,
): RunConfig {
  const isUnchanged =
    settings.kind === 'request' && settings.request.network_isolation === isIsolated(runConfig, limits);
  if (!isUnchanged) return built;
  const { isolate_network: _asked, ...others } = built;
  const { isolate_network: before } = runConfig;
  return before === undefined ? others : { ...others, isolate_network: before };
}

/** A workload's current dangerous access. A mount whose source has changed counts as written. */
async function presentDangers(core: WorkloadsWing, { id, runConfig }: Supervisor): Promise<Danger[]> {
  const mounts = mountsOfRunConfig(runConfig);
  return dangersOf(runConfig, await core.mounts.of(id, mounts).catch(() => mounts));
}

/** Checks a run config, pins its mounts, and installs its server. A remote server has neither. */
async function prepare(
  core: Core,
  { runConfig: asked, source, consent, imageVerification }: Unprepared,
  call: Call,
): Promise<Prepared> {
  const wanted = consent.narrows ? withoutUnacceptedSettings(asked, consent) : asked;
  checkRunConfig(wanted);
  await checkLocalPorts(core, wanted);
  checkPublishedPorts(core, wanted);
  (await core.accessOf(wanted))[Symbol.dispose](); // throws if a rule cannot be enforced
  if (source.kind !== 'local') {
    requireConsent(wanted, [], consent);
    return { runConfig: wanted, mounts: [] };
  }
  const checked: PinnedMount[] = await checkLaunch(core, wanted, source.runtime);
  const { runConfig, mounts } = consent.narrows
    ? withoutUnacceptedMounts(wanted, checked, consent)
    : { runConfig: wanted, mounts: checked };
  requireConsent(runConfig, mounts, consent);
  await refuseForeignHome(core, runConfig, source.runtime);
  requireImage(source, imageVerification);
  const local = await core.mounts.pin(await localSourceOf(runConfig));
  const options = {
    signal: call.signal,
    report: core.progress.of(runConfig.name, call.report),
    ...installationSettings(core.settings),
    trusted: source.trusted,
    async inspect(...inspected: Parameters<typeof core.packages.inspect>) {
      call.lock?.check(inspected[0], inspected[1]);
      await core.packages.inspect(...inspected);
    },
    granted: local[0]?.pin,
  };
  const installed = await checkField('/image', () =>
    source.runtime.prepare(packageSourceOf(runConfig), options),
  );
  await inspectInstalled(core, { installed, source, imageVerification }, call);
  if (call.signal.aborted) throw cancelled('the request was canceled');
  return { runConfig: { ...runConfig, image: formatSource(installed) }, mounts: [...mounts, ...local] };
}

/**
 * Inspects an existing installation, which an earlier version of ToolHive or another state directory may have
 * created.
 */
async function inspectInstalled(
  { packages }: SupplyWing,
  {
    installed,
    source: { runtime, resolved },
    imageVerification: mode,
  }: { installed: ServerSource; source: LocalSource; imageVerification: ImageVerification },
  call: Call,
): Promise<void> {
  const contents = installed.kind === 'image' ? undefined : await runtime.contents?.(installed);
  call.lock?.check(installed, contents);
  if (installed.kind === 'image') {
    await packages.inspectImage(installed, { mode, policy: resolved.entry?.provenance }, call);
    return;
  }
  if (installed.kind === 'bundle' || isLocalPath(installed)) return;
  if (contents !== undefined) await packages.inspect(installed, contents, call);
  packages.requireRepository(installed, resolved.entry?.repository_url);
}

/** Throws if an image signature is required but the server is not an image. */
function requireImage({ resolved: { source } }: LocalSource, mode: ImageVerification): void {
  if (mode !== 'enabled' || source.kind === 'image') return;
  throw invalid(`image_verification is for container images, and ${formatSource(source)} is a package`, {
    hint: 'omit it, because invalid package attestations are always refused',
  });
}
