import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { isRefused } from '@toolhive/kubernetes/status';
import * as z from 'zod';
import { mcpRegistry } from '../crds/mcp-registry.ts';
import { NameClash } from '../runtime/applier.ts';
import type { Finding } from '../runtime/conditions.ts';
import { registryChildren } from '../templates/registry.ts';
import { finding, kinds, letGo, ownerOf, writeStatus } from './context.ts';
import type { Context, Controller, CustomResource, Outcome, Pass } from './context.ts';
import { storageOf } from './image-check.ts';
import { findingsOf, isNewOf, syncConditions, synchronize } from './registry-sync.ts';
import type { RegistryStatus } from './registry-sync.ts';

/** The controller of registries. */
export const registryController: Controller = {
  type: kinds.registry,
  reconcile,
  // Most of a pass is waiting for the source, which must not delay registries with other sources.
  concurrency: 256,
};

const NOT_READY_POLL_MS = 30_000;
async function reconcile(context: Context, key: string, signal: AbortSignal): Outcome {
  const resource = context.cache(kinds.registry).get<CustomResource>(key);
  if (resource === undefined) return;
  const pass = { context, resource, signal };
  if (resource.metadata.deletionTimestamp !== undefined) return letGo(pass);
  const before = (resource.status ?? {}) as RegistryStatus;
  const parsed = mcpRegistry.spec.safeParse(resource.spec);
  if (!parsed.success) {
    const message = `invalid spec: ${z.prettifyError(parsed.error)}`;
    return writeStatus(pass, { phase: 'Failed', message }, [finding('Ready', false, 'InvalidSpec', message)]);
  }
  const spec = parsed.data;
  if (spec.source.type !== 'configmap' && isNewOf(resource)) await reportSyncing(pass, before);
  const sync = await synchronize(pass, spec, before);
  const api = sync.hasData ? await serve(pass, before) : notStarted();
  const isReady = sync.status.phase === 'Complete' && api.status.phase === 'Ready';
  const isFailed = sync.status.phase === 'Failed' || api.status.phase === 'Error';
  const message = isReady
    ? 'The registry is ready.'
    : isFailed
      ? (sync.status.message ?? api.status.message ?? '')
      : 'The registry API is not ready.';
  // With the conditions of the last report.
  const latest = context.cache(kinds.registry).get<CustomResource>(key) ?? resource;
  await writeStatus(
    { ...pass, resource: latest },
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
  );
  const delays = [sync.againAfterMs, api.status.phase === 'Ready' ? undefined : NOT_READY_POLL_MS].filter(
    (delay) => delay !== undefined,
  );
  return delays.length === 0 ? undefined : { againAfterMs: Math.max(0, Math.min(...delays)) };
}

/** Reports that the source of a new spec is being read, which takes up to two minutes. The data stays in use. */
async function reportSyncing(pass: Pass, before: RegistryStatus): Promise<void> {
  const message = 'The operator reads the source.';
  await writeStatus(
    pass,
    { ...before, phase: 'Syncing', message, syncStatus: { ...before.syncStatus, phase: 'Syncing' } },
    [...findingsOf(before, [...syncConditions, 'APIReady']), finding('Ready', false, 'Syncing', message)],
  );
}

interface Deployment extends KubernetesObject {
  status?: { observedGeneration?: number; readyReplicas?: number };
}

interface ApiState {
  status: NonNullable<RegistryStatus['apiStatus']>;
  finding: Finding;
}

function notStarted(): ApiState {
  const message = 'The registry API starts after the first synchronization.';
  return {
    status: { phase: 'NotStarted', message },
    finding: finding('APIReady', false, 'APINotReady', message),
  };
}

/** Runs the registry API, and reports its state. */
async function serve({ context, resource, signal }: Pass, before: RegistryStatus): Promise<ApiState> {
  const { name, namespace = '' } = resource.metadata;
  let deployment: Deployment | undefined;
  try {
    for (const { type, object } of registryChildren(
      ownerOf(resource),
      resource.metadata,
      context.settings,
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
