import type { CreateWorkload, CreatedWorkload } from '@toolhive/contract/workload';
import { cancelled, invalid } from '@toolhive/contract/failure';
import type { Progress } from '@toolhive/runtime/runtime';
import { formatSource } from '@toolhive/runtime/source';
import type { Core } from '../core.ts';
import { resolveSource } from '../registry/registry.ts';
import { buildRunConfig, choosePort, refuseUnenforced } from './build-run-config.ts';
import { launchOf, networkOf } from './launch.ts';
import { checkMounts } from './mounts.ts';
import { deriveName } from './name.ts';

/**
 * Creates a workload and returns once it is starting; its status tells when it is ready. The source is made
 * ready first, so that one that does not exist leaves nothing behind.
 */
export async function createWorkload(
  core: Core,
  request: CreateWorkload,
  { report, signal }: { report: Progress; signal: AbortSignal },
): Promise<CreatedWorkload> {
  refuseUnenforced(request);
  if (!request.image) {
    throw invalid('nothing to run', { hint: 'name a registry entry, an image or a package in image' });
  }
  const runtime = await core.runtimes.choose(signal);
  const resolved = resolveSource(core.registry, request.image, runtime.name);
  const name = request.name ?? deriveName(resolved.source, resolved.entry?.name);
  using reservation = core.workloads.reserve(name);

  const port = await choosePort(request.host ?? '127.0.0.1', request.proxy_port, core.workloads.ports);
  reservation.claim(port);
  const draft = buildRunConfig({ request, resolved, name, port, runtime: runtime.name });
  const { mounts } = launchOf(draft, () => {});
  const { config, state, data, cache } = core.paths;
  await checkMounts(mounts, [config, state, data, cache]);
  refuseUnreachable(runtime.name, draft.transport, networkOf(draft.permission_profile ?? {}).kind);

  const source = await runtime.prepare(resolved.source, { report, signal });
  if (signal.aborted) throw cancelled('the request was given up');
  await core.workloads.add({ ...draft, image: formatSource(source) });
  return { name, port };
}

/** A container without a network has no port that could be published. */
function refuseUnreachable(runtime: string, transport: string, network: string): void {
  if (runtime !== 'docker' || transport === 'stdio' || network !== 'none') return;
  throw invalid(`a server that speaks ${transport} cannot be reached in a container without a network`, {
    hint: 'allow a host in its permission profile, or use a server that speaks stdio',
  });
}
