import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { isNotFound, isRefused } from '@toolhive/kubernetes/status';
import * as z from 'zod';
import { mcpRegistry } from '../crds/mcp-registry.ts';
import { NameClash } from '../runtime/applier.ts';
import { hashOf } from '../runtime/canonical.ts';
import { keyOf } from '../runtime/reflector.ts';
import type { Finding } from '../runtime/conditions.ts';
import { registryChildren, registryStorage } from '../templates/registry.ts';
import { besideOf, finding, kinds, letGo, ownerOf, writeStatus } from './context.ts';
import type { Context, Controller, CustomResource, Outcome } from './context.ts';
import { STORAGE_KEY, storageOf } from './image-check.ts';
import { SyncFailure, readSource, unreadable } from './registry-source.ts';
import type { SourceContent } from './registry-source.ts';

/** The controller of registries. */
export const registryController: Controller = {
  type: kinds.registry,
  reconcile,
  // Most of a pass is waiting for the source, which must not delay registries with other sources.
  concurrency: 256,
};

type Spec = z.infer<typeof mcpRegistry.spec>;
type Status = z.infer<typeof mcpRegistry.status>;

const RETRY_MS = 5 * 60_000;
const NOT_READY_POLL_MS = 30_000;
/** The conditions that a synchronization decides. */
const syncConditions: readonly string[] = ['SourceAvailable', 'DataValid', 'SyncSuccessful'];
const TRIGGER = 'toolhive.stacklok.dev/sync-trigger';

async function reconcile(context: Context, key: string, signal: AbortSignal): Outcome {
  const resource = context.cache(kinds.registry).get<CustomResource>(key);
  if (resource === undefined) return;
  if (resource.metadata.deletionTimestamp !== undefined) return letGo(context, resource, signal);
  const before = (resource.status ?? {}) as Status;
  const parsed = mcpRegistry.spec.safeParse(resource.spec);
  if (!parsed.success) {
    const message = `invalid spec: ${z.prettifyError(parsed.error)}`;
    return writeStatus(
      context,
      resource,
      { phase: 'Failed', message },
      [finding('Ready', false, 'InvalidSpec', message)],
      signal,
    );
  }
  const spec = parsed.data;
  if (spec.source.type !== 'configmap' && isNewOf(resource))
    await reportSyncing(context, resource, before, signal);
  const sync = await synchronize(context, resource, spec, before, signal);
  const api = await serve(context, resource, sync.hasData, before, signal);
  const isReady = sync.status.phase === 'Complete' && api.status.phase === 'Ready';
  const isFailed = sync.status.phase === 'Failed' || api.status.phase === 'Error';
  const message = isReady
    ? 'The registry is ready.'
    : isFailed
      ? (sync.status.message ?? api.status.message ?? '')
      : 'The registry API is not ready.';
  await writeStatus(
    context,
    context.cache(kinds.registry).get<CustomResource>(key) ?? resource, // with the conditions of the last report
    {
      phase: isReady ? 'Ready' : isFailed ? 'Failed' : 'Pending',
      message,
      syncStatus: sync.status,
      apiStatus: api.status,
      lastAppliedFilterHash: sync.filterHash,
      ...(sync.trigger === undefined ? {} : { lastManualSyncTrigger: sync.trigger }),
      ...(sync.hasData
        ? { storageRef: { type: 'configmap', configMapRef: { name: storageOf(resource.metadata.name) } } }
        : {}),
    },
    [
      ...sync.findings,
      api.finding,
      finding('Ready', isReady, isReady ? 'Ready' : isFailed ? 'Failed' : 'NotReady', message),
    ],
    signal,
  );
  if (isFailed) {
    const note = { type: 'Warning', reason: 'SyncFailed', action: 'Synchronize', note: message } as const;
    if (before.message !== message) await context.recorder.record(resource, note, signal);
  }
  const delays = [sync.againAfterMs, api.status.phase === 'Ready' ? undefined : NOT_READY_POLL_MS].filter(
    (delay) => delay !== undefined,
  );
  return delays.length === 0 ? undefined : { againAfterMs: Math.max(0, Math.min(...delays)) };
}

/** Whether the operator has not reported anything about the current spec yet. */
function isNewOf({ metadata, status }: CustomResource): boolean {
  return (status as { observedGeneration?: number } | undefined)?.observedGeneration !== metadata.generation;
}

/** Reports that the source of a new spec is being read, which takes up to two minutes. The data stays in use. */
async function reportSyncing(
  context: Context,
  resource: CustomResource,
  before: Status,
  signal: AbortSignal,
): Promise<void> {
  const message = 'The operator reads the source.';
  await writeStatus(
    context,
    resource,
    { ...before, phase: 'Syncing', message, syncStatus: { ...before.syncStatus, phase: 'Syncing' } },
    [...findingsOf(before, [...syncConditions, 'APIReady']), finding('Ready', false, 'Syncing', message)],
    signal,
  );
}

interface Synchronized {
  status: NonNullable<Status['syncStatus']>;
  findings: Finding[];
  filterHash: string;
  trigger: string | undefined;
  hasData: boolean;
  /** When the next attempt is due. */
  againAfterMs: number | undefined;
}

async function synchronize(
  context: Context,
  resource: CustomResource,
  spec: Spec,
  before: Status,
  signal: AbortSignal,
): Promise<Synchronized> {
  const now = context.now();
  const stored = context
    .cache(types.configMap)
    .get<KubernetesObject & { data?: Record<string, string> }>(
      besideOf(resource, storageOf(resource.metadata.name)),
    );
  const hasStored = stored?.data?.[STORAGE_KEY] !== undefined;
  const filterHash = hashOf(spec.filter ?? {});
  const trigger = resource.metadata.annotations?.[TRIGGER];
  const last = before.syncStatus;
  const intervalMs = spec.syncPolicy === undefined ? undefined : durationMs(spec.syncPolicy.interval);
  const sinceAttemptMs = now.getTime() - Date.parse(last?.lastAttempt ?? '');
  const isChanged = isNewOf(resource) || filterHash !== before.lastAppliedFilterHash;
  const isTriggered = trigger !== undefined && trigger !== before.lastManualSyncTrigger;
  const isRetry = last?.phase === 'Failed' && sinceAttemptMs >= RETRY_MS;
  const isElapsed = intervalMs !== undefined && sinceAttemptMs >= intervalMs;
  const isDue =
    last?.phase === undefined ||
    last.phase === 'Syncing' || // an earlier operator ended meanwhile
    (!hasStored && last.phase === 'Complete') ||
    isChanged ||
    isTriggered ||
    isRetry ||
    isElapsed;
  // A ConfigMap is watched, so its changes need no interval.
  const isWatched = spec.source.type === 'configmap';
  const nextOf = (phase: string): number | undefined => {
    const delays = [phase === 'Failed' ? RETRY_MS : undefined, intervalMs].filter(
      (delay) => delay !== undefined,
    );
    return delays.length === 0 ? undefined : Math.min(...delays);
  };
  if (!isDue && !(isWatched && last !== undefined)) {
    const next = nextOf(last?.phase ?? '');
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
    const { hash, registry, servers } = await contentOf(context, resource, spec, signal);
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
    await store(context, resource, registry, spec, signal);
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
      againAfterMs: nextOf('Complete'),
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
      againAfterMs: isKnown ? RETRY_MS - sinceAttemptMs : nextOf('Failed'),
    };
  }
}

function findingsOf({ conditions }: Status, conditionTypes: readonly string[] = syncConditions): Finding[] {
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
async function contentOf(
  context: Context,
  resource: CustomResource,
  { source, filter }: Spec,
  signal: AbortSignal,
): Promise<SourceContent> {
  if (source.type !== 'configmap') {
    const block = source.type === 'git' ? { git: source.git } : { api: source.api };
    return context.sources.read(keyOf(resource), { source: block, filter }, signal);
  }
  const text = await configMapText(context, resource, source.configmap, signal);
  return readSource({ source: { text }, filter }, signal);
}

async function configMapText(
  context: Context,
  { metadata }: CustomResource,
  source: Spec['source']['configmap'],
  signal: AbortSignal,
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

async function store(
  context: Context,
  resource: CustomResource,
  registry: string,
  spec: Spec,
  signal: AbortSignal,
): Promise<void> {
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

interface Deployment extends KubernetesObject {
  status?: { observedGeneration?: number; readyReplicas?: number };
}

/** Runs the registry API as soon as there is data, and reports its state. */
async function serve(
  context: Context,
  resource: CustomResource,
  hasData: boolean,
  before: Status,
  signal: AbortSignal,
): Promise<{ status: NonNullable<Status['apiStatus']>; finding: Finding }> {
  if (!hasData) {
    const message = 'The registry API starts after the first synchronization.';
    return {
      status: { phase: 'NotStarted', message },
      finding: finding('APIReady', false, 'APINotReady', message),
    };
  }
  const { name, namespace = '' } = resource.metadata;
  let deployment: Deployment | undefined;
  try {
    for (const { type, object } of registryChildren(
      ownerOf(resource),
      resource.metadata,
      context.settings.registryImage,
      context.isOpenShift,
    )) {
      const stored = await context.applier.apply<KubernetesObject>(type, object, signal);
      if (type.kind === 'Deployment') deployment = stored;
    }
  } catch (error) {
    if (!(error instanceof NameClash) && !isRefused(error)) throw error;
    return {
      status: { phase: 'Error', message: error.message },
      finding: finding('APIReady', false, 'DeploymentFailed', error.message),
    };
  }
  const { observedGeneration = 0, readyReplicas = 0 } = deployment?.status ?? {};
  const isReady = readyReplicas > 0 && observedGeneration >= (deployment?.metadata.generation ?? 0);
  const wasReady = before.apiStatus?.phase === 'Ready' || before.apiStatus?.phase === 'Unhealthy';
  const phase = isReady ? 'Ready' : wasReady ? 'Unhealthy' : 'Deploying';
  const message = isReady ? 'The registry API is ready.' : 'The registry API pod is not ready.';
  const readySince = isReady
    ? (before.apiStatus?.readySince ??
      context
        .now()
        .toISOString()
        .replace(/\.\d+Z$/, 'Z'))
    : undefined;
  return {
    status: {
      phase,
      message,
      endpoint: `http://${name}-api.${namespace}:8080`,
      ...(readySince === undefined ? {} : { readySince }),
    },
    finding: finding('APIReady', isReady, isReady ? 'APIReady' : 'APINotReady', message),
  };
}
