import { createHash } from 'node:crypto';
import { readRegistry } from '@toolhive/registry/read';
import type { GuardedRequest } from '@toolhive/outgoing/guarded-fetch';
import type { Registry } from '@toolhive/contract/registry';
import type * as z from 'zod';
import type { mcpRegistry } from '../crds/mcp-registry.ts';
import { canonicalJson } from '../runtime/canonical.ts';
import { filterRegistry } from './registry-filter.ts';

type Spec = z.infer<typeof mcpRegistry.spec>;

/** The source and the filter of a registry. The text of a ConfigMap is read before. */
export interface SourceRequest {
  source: Pick<Spec['source'], 'git' | 'api'> | { text: string };
  filter: Spec['filter'];
  /** Which private addresses a source may have. By default, those of other machines. */
  reach?: GuardedRequest['allowPrivate'];
}

/** The content of a source. */
export interface SourceContent {
  /** The SHA-256 of the source. */
  hash: string;
  /** The filtered registry as JSON. */
  registry: string;
  servers: number;
}

/** A failed synchronization, with the condition that names the failing step. */
export class SyncFailure extends Error {
  readonly type: 'SourceAvailable' | 'DataValid' | 'SyncSuccessful';
  readonly reason: string;

  constructor(type: SyncFailure['type'], reason: string, message: string) {
    super(message);
    this.type = type;
    this.reason = reason;
  }
}

/** The API server refuses ConfigMaps with more data. */
const MAX_STORED_BYTES = 1024 * 1024;

/** Reads, checks, and filters a registry. Throws `SyncFailure`. */
export async function readSource(
  { source, filter, reach = 'others' }: SourceRequest,
  signal: AbortSignal,
): Promise<SourceContent> {
  const { document, hash } = await documentOf(source, reach, signal);
  const registry = filterRegistry(registryOf(document), filter);
  const text = JSON.stringify(registry);
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_STORED_BYTES) {
    throw new SyncFailure(
      'SyncSuccessful',
      'StorageFailed',
      `cannot store the registry: its ${bytes} bytes are more than the ${MAX_STORED_BYTES} bytes of a ConfigMap. Select fewer servers with spec.filter`,
    );
  }
  const { servers, remote_servers: remote } = registry;
  return { hash, registry: text, servers: Object.keys(servers).length + Object.keys(remote).length };
}

/** Reads a source. Loads clients for HTTP and Git only for sources that need them: they take longer than a text. */
async function documentOf(
  source: SourceRequest['source'],
  reach: NonNullable<SourceRequest['reach']>,
  signal: AbortSignal,
): Promise<{ document: unknown; hash: string }> {
  if ('text' in source) return { document: jsonOf(source.text), hash: sha256(source.text) };
  try {
    if (source.api !== undefined) {
      const { fetchRegistry } = await import('@toolhive/registry/fetch-registry');
      const fetched = await fetchRegistry(source.api.endpoint, { allowPrivate: reach, signal });
      if (fetched === undefined) throw new Error('the source sent no content');
      if (fetched.problem !== undefined) throw new Error(fetched.problem);
      return { document: fetched.registry, hash: sha256(canonicalJson(fetched.registry)) };
    }
    if (source.git === undefined) throw new Error('spec.source has no block for its type');
    const { readGitFile } = await import('./git-source.ts');
    const text = await readGitFile(source.git, signal, reach);
    return { document: jsonOf(text), hash: sha256(text) };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SyncFailure) throw error;
    throw unreadable((error as Error).message);
  }
}

/** The failure of a source that cannot be read. */
export function unreadable(problem: string): SyncFailure {
  return new SyncFailure('SourceAvailable', 'FetchFailed', `cannot read the source: ${problem}`);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SyncFailure('DataValid', 'ValidationFailed', 'the source is not JSON');
  }
}

function registryOf(document: unknown): Registry {
  try {
    return readRegistry(document).registry;
  } catch (error) {
    throw new SyncFailure('DataValid', 'ValidationFailed', (error as Error).message);
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
