import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { isNotFound, isRefused } from '@toolhive/kubernetes/status';
import type * as z from 'zod';
import type { mcpRegistry } from '../crds/mcp-registry.ts';
import { NameClash } from '../runtime/applier.ts';
import { hashOf } from '../runtime/canonical.ts';
import type { Finding } from '../runtime/conditions.ts';
import { keyOf } from '../runtime/reflector.ts';
import { registryStorage } from '../templates/registry.ts';
import { besideOf, finding, ownerOf } from './context.ts';
import type { CustomResource, Pass } from './context.ts';
import { STORAGE_KEY, storageOf } from './image-check.ts';
import { SyncFailure, readSource, unreadable } from './registry-source.ts';
import type { SourceContent } from './registry-source.ts';

type Spec = z.infer<typeof mcpRegistry.spec>;
export type RegistryStatus = z.infer<typeof mcpRegistry.status>;

const RETRY_MS = 5 * 60_000;
/** The conditions that a synchronization decides. */
export const syncConditions: readonly string[] = ['SourceAvailable', 'DataValid', 'SyncSuccessful'];
const TRIGGER = 'toolhive.stacklok.dev/sync-trigger';

/** Whether the operator has not reported anything about the current spec yet. */
export function isNewOf({ metadata, status }: CustomResource): boolean {
  return (status as { observedGeneration?: number } | undefined)?.observedGeneration !== metadata.generation;
}

interface Stored extends KubernetesObject {
  data?: Record<string, string>;
}

/** Whether the stored content and its object are as the operator wrote them, if they exist. */
function isIntact({ context, resource }: Pass, { source }: Spec, stored: Stored | undefined): boolean {
  const text = stored?.data?.[STORAGE_KEY];
  if (text === undefined) return true; // an absent content has a reason, or is due anyway
  const { type, object } = registryStorage(ownerOf(resource), resource.metadata, text, source.format);
  return context.applier.isAsWanted(type, object);
}

interface Synchronized {
  status: NonNullable<RegistryStatus['syncStatus']>;
  findings: Finding[];
  filterHash: string;
  trigger: string | undefined;
  hasData: boolean;
  /** When the next attempt is due. */
  againAfterMs: number | undefined;
}

/** Reads the source of a registry and stores its content, if that is due. */
export async function synchronize(pass: Pass, spec: Spec, before: RegistryStatus): Promise<Synchronized> {
  const { context, resource, signal } = pass;
  const now = context.now();
  const stored = context
    .cache(types.configMap)
    .get<Stored>(besideOf(resource, storageOf(resource.metadata.name)));
  const hasStored = stored?.data?.[STORAGE_KEY] !== undefined;
  const filterHash = hashOf(spec.filter ?? {});
  const trigger = resource.metadata.annotations?.[TRIGGER];
  const last = before.syncStatus;
  const intervalMs = spec.syncPolicy === undefined ? undefined : durationMs(spec.syncPolicy.interval);
  const sinceAttemptMs = now.getTime() - Date.parse(last?.lastAttempt ?? '');
  const isChanged = isNewOf(resource) || filterHash !== before.lastAppliedFilterHash;
  const isTriggered = trigger !== undefined && trigger !== before.lastManualSyncTrigger;
  const isDue =
    isChanged ||
    isTriggered ||
    !isIntact(pass, spec, stored) ||
    isDueByTime({ phase: last?.phase, hasStored, sinceAttemptMs, intervalMs });
  // A ConfigMap is watched, so its changes need no interval.
  const isWatched = spec.source.type === 'configmap';
  if (!isDue && !(isWatched && last !== undefined)) {
    const next = nextAttemptMs(last?.phase ?? '', intervalMs);
    return {
      status: last ?? { phase: 'Failed' },
      findings: findingsOf(before),
      filterHash,
      trigger: before.lastManualSyncTrigger,
      hasData: hasStored,
      againAfterMs: next === undefined ? undefined : next - sinceAttemptMs,
    };
  }
  const common = { filterHash, trigger: trigger ?? before.lastManualSyncTrigger };
  const lastAttempt = now.toISOString().replace(/\.\d+Z$/, 'Z');
  try {
    const { hash, registry, servers } = await contentOf(pass, spec);
    const isSame = hasStored && hash === last?.lastSyncHash && !isChanged && last.phase === 'Complete';
    if (isSame && !isDue) {
      // Nothing happened, so nothing is written.
      return {
        ...common,
        status: last,
        findings: findingsOf(before),
        hasData: true,
        againAfterMs: intervalMs,
      };
    }
    await store(pass, registry, spec);
    return {
      ...common,
      hasData: true,
      status: {
        phase: 'Complete',
        message: `The registry has ${servers} servers.`,
        lastAttempt,
        attemptCount: 0,
        lastSyncTime: lastAttempt,
        lastSyncHash: hash,
        serverCount: servers,
      },
      findings: [
        finding('SourceAvailable', true, 'SourceAvailable', 'The source is available.'),
        finding('DataValid', true, 'DataValid', 'The source contains a registry.'),
        finding('SyncSuccessful', true, 'SyncComplete', 'The registry is up to date.'),
      ],
      againAfterMs: nextAttemptMs('Complete', intervalMs),
    };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof SyncFailure)) throw error;
    const isKnown = !isDue && last?.phase === 'Failed' && last.message === error.message;
    return {
      ...common,
      hasData: hasStored,
      status: isKnown
        ? last
        : {
            ...last,
            phase: 'Failed',
            message: error.message,
            lastAttempt,
            attemptCount: (last?.attemptCount ?? 0) + 1,
          },
      findings: failureFindings(error),
      againAfterMs: isKnown ? RETRY_MS - sinceAttemptMs : nextAttemptMs('Failed', intervalMs),
    };
  }
}

/** The facts about the time of the last attempt. */
interface Due {
  phase: string | undefined;
  hasStored: boolean;
  sinceAttemptMs: number;
  intervalMs: number | undefined;
}

/** Whether an attempt is due although nothing was changed or requested. */
function isDueByTime({ phase, hasStored, sinceAttemptMs, intervalMs }: Due): boolean {
  const isRetry = phase === 'Failed' && sinceAttemptMs >= RETRY_MS;
  const isElapsed = intervalMs !== undefined && sinceAttemptMs >= intervalMs;
  const isInterrupted = phase === 'Syncing'; // an earlier operator ended meanwhile
  const isLost = !hasStored && phase === 'Complete';
  return phase === undefined || isInterrupted || isLost || isRetry || isElapsed;
}

function nextAttemptMs(phase: string, intervalMs: number | undefined): number | undefined {
  const delays = [phase === 'Failed' ? RETRY_MS : undefined, intervalMs].filter(
    (delay) => delay !== undefined,
  );
  return delays.length === 0 ? undefined : Math.min(...delays);
}

/** The conditions of an earlier report. */
export function findingsOf(
  { conditions }: RegistryStatus,
  conditionTypes: readonly string[] = syncConditions,
): Finding[] {
  return (conditions ?? [])
    .filter(({ type }) => conditionTypes.includes(type))
    .map(({ type, status, reason, message }) => ({ type, status, reason, message }));
}

function failureFindings({ type, reason, message }: SyncFailure): Finding[] {
  const available = finding('SourceAvailable', true, 'SourceAvailable', 'The source is available.');
  const valid = finding('DataValid', true, 'DataValid', 'The source contains a registry.');
  const failed = finding(type, false, reason, message);
  const unsuccessful = finding('SyncSuccessful', false, reason, message);
  if (type === 'SourceAvailable') return [failed, unsuccessful];
  if (type === 'DataValid') return [available, failed, unsuccessful];
  return [available, valid, unsuccessful];
}

/** Reads the source. Git repositories and APIs belong to others, so a thread reads them. */
async function contentOf(pass: Pass, { source, filter }: Spec): Promise<SourceContent> {
  const { context, resource, signal } = pass;
  if (source.type !== 'configmap') {
    const block = source.type === 'git' ? { git: source.git } : { api: source.api };
    return context.sources.read(keyOf(resource), { source: block, filter }, signal);
  }
  const text = await configMapText(pass, source.configmap);
  return readSource({ source: { text }, filter }, signal);
}

async function configMapText(
  { context, resource: { metadata }, signal }: Pass,
  source: Spec['source']['configmap'],
): Promise<string> {
  if (source === undefined) throw unreadable('spec.source.configmap is required for type configmap');
  const { name, key } = source;
  try {
    const found = await context.client.get<KubernetesObject & { data?: Record<string, string> }>(
      types.configMap,
      { name, namespace: metadata.namespace },
      { signal },
    );
    const text = found.data?.[key];
    if (text === undefined) throw unreadable(`ConfigMap ${name} has no key ${key}`);
    return text;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SyncFailure) throw error;
    throw unreadable(isNotFound(error) ? `ConfigMap ${name} not found` : (error as Error).message);
  }
}

async function store({ context, resource, signal }: Pass, registry: string, spec: Spec): Promise<void> {
  const { type, object } = registryStorage(
    ownerOf(resource),
    resource.metadata,
    registry,
    spec.source.format,
  );
  try {
    await context.applier.apply(type, object, signal);
  } catch (error) {
    const isTooLarge = isRefused(error) || (error as { code?: unknown }).code === 413;
    if (!isTooLarge && !(error instanceof NameClash)) throw error;
    throw new SyncFailure(
      'SyncSuccessful',
      'StorageFailed',
      `cannot store the registry: ${(error as Error).message}`,
    );
  }
}

const unitMs: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};
/** A shorter interval would only load the source. */
const MIN_INTERVAL_MS = 1_000;
const MAX_INTERVAL_MS = 2 ** 31 - 1;

function durationMs(text: string): number {
  const parts = [...text.matchAll(/([0-9.]+)(ns|us|µs|ms|s|m|h)/g)];
  const total = parts.reduce((sum, [, amount, unit = '']) => sum + Number(amount) * (unitMs[unit] ?? 0), 0);
  return Math.min(Math.max(total, MIN_INTERVAL_MS), MAX_INTERVAL_MS);
}
