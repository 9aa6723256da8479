import { invalid } from '@toolhive/contract/failure';
import { getCapabilities } from '@toolhive/core/capabilities';
import type { Core } from '@toolhive/core/core';
import { exportWorkload } from '@toolhive/core/operate';
import type { PackageContents } from '@toolhive/runtime/runtime';
import { formatSource, isLocalPath, parseSource } from '@toolhive/runtime/source';
import type { ServerSource } from '@toolhive/runtime/source';
import { hashOf } from './file.ts';
import { checksumOf, dependenciesOf } from './lock.ts';
import type { LockedServer, LockedTools, Stated } from './lock.ts';

/** The program of a workload. A remote server has neither part. */
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

/** The member of an item that identifies it, by kind. */
const keys = { tool: 'name', prompt: 'name', resource: 'uri', 'resource-template': 'uriTemplate' } as const;

/**
 * The hashes of the items that a running server lists now, the same as those of its pins. Undefined if the user has to sign in first.
 * Throws if the server does not list its tools.
 */
export async function toolsOf(core: Core, workload: string): Promise<LockedTools | undefined> {
  const { id, requiredSignIn } = core.workloads.require(workload);
  if (requiredSignIn !== undefined) return undefined;
  const { problem } = await getCapabilities(core, workload, { refresh: true });
  if (problem !== undefined) throw invalid(`the server does not list its tools: ${problem}`);
  // The pins also remember versions of the past.
  const { lists = {}, greeting } = core.listings.of(id) ?? {};
  const tools: LockedTools = {};
  for (const [kind, key] of Object.entries(keys) as [keyof typeof keys, string][]) {
    const { items = [], isComplete = true } = lists[kind] ?? {};
    if (!isComplete) throw invalid('the server lists more than ToolHive compares');
    const hashes = items.flatMap((item) =>
      typeof item[key] === 'string' ? [[item[key], hashOf(item)] as const] : [],
    );
    if (hashes.length > 0) tools[kind] = Object.fromEntries(hashes);
  }
  if (greeting?.instructions) tools.instructions = { '': hashOf(greeting.instructions) };
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

/** The parts that decide about a server. The popularity and the like change every day. */
function contentOfEntry(entry: unknown): unknown {
  const { metadata: _metadata, ...rest } = entry as Record<string, unknown>; // an object of the registry format
  return JSON.parse(JSON.stringify(rest)) as unknown;
}
