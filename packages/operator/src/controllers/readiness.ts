import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { isForbidden, isRefused } from '@toolhive/kubernetes/status';
import type { Context } from './context.ts';

/** A Deployment or a StatefulSet. */
export interface PodController extends KubernetesObject {
  spec: { replicas?: number; selector?: { matchLabels?: Record<string, string> } };
  status?: {
    observedGeneration?: number;
    replicas?: number;
    readyReplicas?: number;
    availableReplicas?: number;
    updatedReplicas?: number;
    currentRevision?: string;
    updateRevision?: string;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
  };
}

/** Whether pods are ready, and why not. */
export interface Readiness {
  isReady: boolean;
  reason: string;
  message: string;
}

interface Container {
  name: string;
  state?: { waiting?: { reason?: string; message?: string } };
  lastState?: { terminated?: { reason?: string; exitCode?: number; message?: string } };
}
interface Pod extends KubernetesObject {
  status?: {
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    containerStatuses?: Container[];
    initContainerStatuses?: Container[];
  };
}
interface Event extends KubernetesObject {
  reason?: string;
  note?: string;
  eventTime?: string | null;
  deprecatedLastTimestamp?: string | null;
  series?: { lastObservedTime?: string } | null;
}

/** The states of containers on their way to the start. */
const STARTING = new Set(['ContainerCreating', 'PodInitializing']);

/** Whether the pods of a server are ready. Reads pods and events only if they are not. */
export async function readinessOf(
  context: Context,
  controllers: { deployment?: PodController; statefulSet?: PodController },
  signal: AbortSignal,
): Promise<Readiness> {
  const waiting = [
    { what: 'server', controller: controllers.statefulSet },
    { what: 'proxy', controller: controllers.deployment },
  ].find(({ controller }) => controller !== undefined && !isReady(controller));
  if (waiting?.controller === undefined)
    return { isReady: true, reason: 'DeploymentReady', message: 'The proxy and the server are ready.' };
  const { what, controller } = waiting;
  const trouble = await troubleOf(context, controller, signal);
  return trouble === undefined
    ? { isReady: false, reason: 'DeploymentNotReady', message: `The ${what} pod is not ready.` }
    : { isReady: false, reason: trouble.reason, message: `The ${what} pod is not ready: ${trouble.message}` };
}

/** Whether a pod is ready and all pods have the current template. Pods of an older template say nothing about the spec. */
export function isReady({ metadata, status = {} }: PodController): boolean {
  const { observedGeneration = 0, replicas = 0, readyReplicas = 0, updatedReplicas = 0 } = status;
  return observedGeneration >= (metadata.generation ?? 0) && readyReplicas > 0 && updatedReplicas >= replicas;
}

interface Trouble {
  reason: string;
  message: string;
}

async function troubleOf(
  context: Context,
  controller: PodController,
  signal: AbortSignal,
): Promise<Trouble | undefined> {
  const failure = controller.status?.conditions?.find(
    ({ type, status }) => type === 'ReplicaFailure' && status === 'True',
  );
  if (failure !== undefined) return { reason: 'PodNotCreated', message: failure.message ?? '' };
  const { namespace = '' } = controller.metadata;
  const labels = Object.entries(controller.spec.selector?.matchLabels ?? {});
  const labelSelector = labels.map(([label, value]) => `${label}=${value}`).join(',');
  const { items } = await context.client.list<Pod>(types.pod, { namespace, labelSelector, signal });
  const pods = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (pods.length === 0) return refusalOf(context, controller, signal);
  return pods.map(troubleOfPod).find((trouble) => trouble !== undefined);
}

function troubleOfPod({ metadata, status = {} }: Pod): Trouble | undefined {
  const scheduled = status.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False')
    return {
      reason: scheduled.reason ?? 'Unschedulable',
      message: `${metadata.name}: ${scheduled.message ?? ''}`,
    };
  for (const { name, state, lastState } of [
    ...(status.initContainerStatuses ?? []),
    ...(status.containerStatuses ?? []),
  ]) {
    const { reason, message } = state?.waiting ?? {};
    if (reason === undefined || STARTING.has(reason)) continue;
    const { exitCode } = lastState?.terminated ?? {};
    const end = exitCode === undefined ? '' : `, exit code ${exitCode}`;
    return { reason, message: `container ${name} of ${metadata.name}: ${reason}${end}: ${message ?? ''}` };
  }
  return undefined;
}

/** Why no pod can be created. A StatefulSet says so in events only. */
async function refusalOf(
  { client }: Context,
  { metadata }: PodController,
  signal: AbortSignal,
): Promise<Trouble | undefined> {
  const { namespace = '', uid = '' } = metadata;
  const fieldSelector = `regarding.uid=${uid},type=Warning`;
  try {
    const { items } = await client.list<Event>(types.event, { namespace, fieldSelector, signal });
    const latest = items.toSorted((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1))[0];
    return latest && { reason: 'PodNotCreated', message: latest.note ?? latest.reason ?? '' };
  } catch (error) {
    if (isForbidden(error) || isRefused(error)) return undefined; // an older chart does not allow it
    throw error;
  }
}

function timeOf({ series, eventTime, deprecatedLastTimestamp, metadata }: Event): string {
  return series?.lastObservedTime ?? eventTime ?? deprecatedLastTimestamp ?? metadata.creationTimestamp ?? '';
}
