import { invalid } from '@toolhive/contract/failure';
import { getCapabilities } from '@toolhive/core/capabilities';
import type { Core } from '@toolhive/core/core';
import { exportWorkload } from '@toolhive/core/operate';
import { getToolPins } from '@toolhive/core/tool-pins';
import type { PackageContents } from '@toolhive/runtime/runtime';
import { formatSource, isLocalPath, parseSource } from '@toolhive/runtime/source';
import type { ServerSource } from '@toolhive/runtime/source';
import { hashOf } from './file.ts';
import { checksumOf, dependenciesOf } from './lock.ts';
import type { LockedServer, LockedTools, Stated } from './lock.ts';

/** What a workload runs. A remote server has neither. */
export interface Content {
  source?: ServerSource;
  contents?: PackageContents | undefined;
}

export async function contentOf(core: Core, workload: string): Promise<Content> {
  const runConfig = exportWorkload(core, workload);
  if (!runConfig.image || runConfig.remote_url) return {};
  const source = parseSource(runConfig.image);
  const contents = source.kind === 'image' ? undefined : await core.runtimes.of(runConfig).contents?.(source);
  return { source, contents };
}

/** The exact source for a lock file, without the paths of this machine. */
function resolvedText(stated: string, { source }: Content): string {
  if (source === undefined) return stated;
  if (source.kind === 'package' && isLocalPath(source)) return stated;
  if (source.kind === 'bundle' && !source.name.startsWith('https:')) {
    const [plain = ''] = stated.split(/@sha256-/);
    return `${plain}@${source.version ?? ''}`;
  }
  return formatSource(source);
}

/** Describes a running workload for a lock file. */
export function lockedServer(stated: Stated, content: Content, tools: LockedTools | undefined): LockedServer {
  const isLocal = content.source?.kind === 'package' && isLocalPath(content.source);
  const [own, ...others] = (isLocal ? undefined : content.contents?.artifacts) ?? [];
  const dependencies = dependenciesOf(others);
  const locked = {
    settings: stated.settings,
    source: stated.source,
    resolved: resolvedText(stated.source, content),
    ...(own === undefined || own.integrity === '' ? {} : { integrity: own.integrity }),
    ...(Object.keys(dependencies).length === 0 ? {} : { dependencies }),
    ...(stated.registryEntry === undefined ? {} : { registry_entry: stated.registryEntry }),
    ...(tools === undefined ? {} : { tools }),
  };
  return { ...locked, checksum: checksumOf(locked) };
}

/**
 * The hashes of what a running server lists now. Undefined if they are not recorded, or if the user has to sign in first.
 * Throws if the server does not list its tools.
 */
export async function toolsOf(core: Core, workload: string): Promise<LockedTools | undefined> {
  if (core.workloads.require(workload).requiredSignIn !== undefined) return undefined;
  if (exportWorkload(core, workload).tool_pinning === 'off') return undefined;
  const { problem } = await getCapabilities(core, workload, { refresh: true });
  if (problem !== undefined) throw invalid(`the server does not list its tools: ${problem}`);
  const { items } = await getToolPins(core, workload);
  const tools: LockedTools = {};
  for (const { kind, name, state, approved_hash: approved, pending_hash: pending } of items) {
    const hash = pending ?? approved;
    if (state !== 'removed' && hash !== undefined) tools[kind] = { ...tools[kind], [name]: hash };
  }
  return tools;
}

/** The hash of the registry entry that a source names. */
export async function registryEntryOf(
  core: Core,
  image: string | undefined,
  group: string | undefined,
): Promise<string | undefined> {
  if (image === undefined || image.includes('://')) return undefined;
  await core.registry.read();
  const registry = await core.registry.catalogueFor(image, group);
  for (const entries of [registry.servers, registry.remote_servers])
    if (Object.hasOwn(entries, image)) return hashOf(contentOfEntry(entries[image]));
  return undefined;
}

/** What decides about a server. The popularity and the like change every day. */
function contentOfEntry(entry: unknown): unknown {
  const { metadata: _metadata, ...rest } = entry as Record<string, unknown>; // an object of the registry format
  return JSON.parse(JSON.stringify(rest)) as unknown;
}
