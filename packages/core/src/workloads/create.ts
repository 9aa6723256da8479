import type { RunConfig } from '@toolhive/contract/run-config';
import type { CreateWorkload, CreatedWorkload } from '@toolhive/contract/workload';
import { cancelled, invalid } from '@toolhive/contract/failure';
import { isLoopback } from '@toolhive/contract/loopback';
import { defaultGroup } from '@toolhive/contract/names';
import type { PrepareOptions, Progress, Runtime } from '@toolhive/runtime/runtime';
import { viewOf } from '@toolhive/proxy/tool-view';
import type { ToolRules } from '@toolhive/proxy/tool-view';
import { formatSource } from '@toolhive/runtime/source';
import type { ServerSource } from '@toolhive/runtime/source';
import type { Core } from '../core.ts';
import { packageNote } from '../registry/registry.ts';
import { installationSettings } from '../settings/settings.ts';
import { buildRunConfig } from './build-run-config.ts';
import { refusePrivateEntry } from './entry-address.ts';
import { refuseUnenforced, refuseUnenforcedRequest } from './enforcement.ts';
import { refuseReplaceable } from './granted-mounts.ts';
import { launchOf, mountsOfRunConfig, toolsOf } from './launch.ts';
import { refuseIgnoreFiles } from './mounts.ts';
import { deriveName, nameOfHost } from './name.ts';
import { networkOf } from './network.ts';
import { choosePort, requireOwnAddress } from './port.ts';
import { remoteConfigOf, remoteOf, remoteRunConfig } from './remote.ts';
import type { Remote } from './remote.ts';
import { withTelemetrySettings } from './telemetry.ts';
import { trustedFor } from './trust.ts';
import type { Prepared, Reservation } from './workloads.ts';

/** How a workload is asked for: in the words of a person, or as the run config that an export gave. */
export type WorkloadRequest = CreateWorkload | RunConfig;

interface Call {
  report: Progress;
  signal: AbortSignal;
}

/**
 * Creates a workload and returns once it is starting; its status tells when it is ready. The source is made
 * ready first, so that one that does not exist leaves nothing behind.
 */
export async function createWorkload(
  core: Core,
  request: WorkloadRequest,
  call: Call,
): Promise<CreatedWorkload> {
  const plan = await planOf(core, request, call);
  const name = request.name ?? plan.ownName;
  using reservation = core.workloads.reserve(name);
  const prepared = await prepare(core, plan, { name, reservation, call });
  await core.workloads.add(prepared);
  return { name, port: prepared.runConfig.port };
}

/**
 * Runs a workload with everything new but its name; and its port, unless another is named. What is there goes on
 * until the new source is ready.
 */
export async function editWorkload(
  core: Core,
  name: string,
  request: WorkloadRequest,
  call: Call,
): Promise<CreatedWorkload> {
  const supervisor = core.workloads.require(name);
  const plan = await planOf(core, request, call);
  using reservation = core.workloads.reserve(name, supervisor);
  const present = supervisor.runConfig;
  const prepared = await prepare(core, plan, { name, reservation, call, present });
  await core.workloads.change(supervisor, prepared);
  return { name, port: prepared.runConfig.port };
}

/** What is to run, as far as that is known before it has a name and a port. */
interface Plan {
  /** What is started here; absent for a server that somebody else runs. */
  local?: { runtime: Runtime; source: ServerSource };
  /** Whom to trust while it is made ready. */
  trusted?: PrepareOptions['trusted'];
  /** The name that it gets if it is given none. */
  ownName: string;
  host: string;
  port: number | undefined;
  runConfigFor: (name: string, port: number) => RunConfig;
}

async function planOf(core: Core, asked: WorkloadRequest, { report, signal }: Call): Promise<Plan> {
  const request = withTelemetrySettings(core, asked);
  if (request.schema_version === undefined) refuseUnenforcedRequest(request);
  core.groups.require(request.group ?? defaultGroup);
  const registryGroup = request.schema_version === undefined ? request.registry_group : undefined;
  const catalogue = await core.registry.catalogueFor(request.image ?? '', registryGroup);
  const remote = remoteOf(catalogue, request);
  if (remote !== undefined) {
    trustedFor(core, request, undefined); // throws when it is asked for
    await refusePrivateEntry(remote, core.settings.current);
    return planOfRemote(request, remote);
  }
  if (!request.image) {
    throw invalid('nothing to run', {
      hint: 'name a registry entry, an image or a package in image, or a remote server in url',
    });
  }
  const runtime = await core.runtimes.choose(signal);
  const resolved = await core.registry.resolve(request.image, runtime.name, registryGroup);
  const { source, entry } = resolved;
  if (resolved.insteadOf !== undefined) report(packageNote(formatSource(source), resolved.insteadOf));
  const host = request.host || '127.0.0.1';
  const trusted = trustedFor(core, request, source);
  const common = { local: { runtime, source }, trusted, ownName: deriveName(source, entry?.name), host };
  if (request.schema_version !== undefined) {
    return {
      ...common,
      port: request.port,
      runConfigFor: (name, port) => ({ ...request, ...namesFor(name), host, port, runtime: runtime.name }),
    };
  }
  return {
    ...common,
    port: request.proxy_port,
    runConfigFor: (name, port) => buildRunConfig({ request, resolved, name, port, runtime: runtime.name }),
  };
}

function planOfRemote(request: WorkloadRequest, remote: Remote): Plan {
  const host = request.host || '127.0.0.1';
  const common = { ownName: remote.entry?.name ?? nameOfHost(remote.url), host };
  if (request.schema_version !== undefined) {
    const checked = remoteRunConfig({ ...request, remote_url: remote.url.href });
    return {
      ...common,
      port: request.port,
      runConfigFor: (name, port) => ({ ...checked, ...namesFor(name), host, port }),
    };
  }
  const draft = remoteConfigOf(request, remote);
  return {
    ...common,
    port: request.proxy_port,
    runConfigFor: (name, port) => remoteRunConfig({ ...draft, ...namesFor(name), host, port }),
  };
}

function namesFor(name: string): Pick<RunConfig, 'name' | 'base_name' | 'container_name'> {
  return { name, base_name: name, container_name: name };
}

interface Naming {
  name: string;
  reservation: Reservation;
  call: Call;
  /** What the workload runs with now, if it is there. */
  present?: RunConfig;
}

/** Finds the workload its port, checks all that can be checked, and gets the source ready. */
async function prepare(
  core: Core,
  plan: Plan,
  { name, reservation, call, present }: Naming,
): Promise<Prepared> {
  const { local } = plan;
  const port = await portFor(plan, present, reservation);
  const draft = plan.runConfigFor(name, port);
  refuseOpen(draft);
  requireOverrides(toolsOf(draft));
  viewOf(toolsOf(draft)); // throws where two tools would have one name
  if (local === undefined) {
    refuseUnenforced(draft);
    return { runConfig: draft, mounts: [] };
  }
  const { runtime, source } = local;
  const mounts = await core.mounts.pin(mountsOfRunConfig(draft));
  const launch = launchOf(draft, mounts, await core.secretsOf(draft), () => {});
  runtime.refuseImpossible?.(launch);
  if (runtime.mountsByPath) {
    const workloads = core.workloads.all().map((other) => other.runConfig);
    await refuseReplaceable(name, mounts, workloads);
  }
  await refuseIgnoreFiles(mounts, core.paths.ignoreFile, draft.ignore_config ?? {});
  refuseUnreachable(runtime.name, draft.transport, networkOf(draft.permission_profile ?? {}).kind);

  const pinned = await runtime.prepare(source, {
    ...call,
    ...installationSettings(core.settings),
    trusted: plan.trusted,
  });
  if (call.signal.aborted) throw cancelled('the request was given up');
  return { runConfig: { ...draft, image: formatSource(pinned) }, mounts };
}

/** The port that was asked for, or the one that it has, or a free one. Its own is not in use by somebody else. */
async function portFor(
  { host, port: asked }: Plan,
  present: RunConfig | undefined,
  { claim }: Reservation,
): Promise<number> {
  if (present === undefined || (asked && asked !== present.port)) return choosePort(host, asked, claim);
  if (host !== present.host) await requireOwnAddress(host);
  return present.port;
}

/** Nothing asks the callers of a workload who they are, so nobody else may reach it unless somebody asks for that. */
function refuseOpen({ host, insecure_no_auth: isWanted }: RunConfig): void {
  if (isLoopback(host) || isWanted === true) return;
  throw invalid(`a workload on ${host} could be used without authentication by everybody who reaches it`, {
    hint: 'leave host out; or set insecure_no_auth (--insecure-no-auth), if that is intended',
  });
}

/** A container without a network has no port that could be published. */
function refuseUnreachable(runtime: string, transport: string, network: string): void {
  if (runtime !== 'docker' || transport === 'stdio' || network !== 'none') return;
  throw invalid(`a server that speaks ${transport} cannot be reached in a container without a network`, {
    hint: 'allow a host in its permission profile, or use a server that speaks stdio',
  });
}

/** Throws for an override that changes nothing: it is most likely a mistake in the name of a member. */
function requireOverrides({ overrides }: Required<ToolRules>): void {
  for (const [tool, { name, description }] of Object.entries(overrides)) {
    if (name || description) continue;
    throw invalid(`the override of the tool ${tool} has neither a name nor a description`, {
      hint: 'give it at least one of them, or leave it out',
    });
  }
}
