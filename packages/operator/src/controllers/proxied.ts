import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { isForbidden, isNotFound, isRefused } from '@toolhive/kubernetes/status';
import { Dispute, NameClash } from '../runtime/applier.ts';
import type { Finding } from '../runtime/conditions.ts';
import { keyOf } from '../runtime/reflector.ts';
import { checkRunConfig } from '../templates/check.ts';
import { namesOf, proxyLabels, serverLabels, urlOf } from '../templates/names.ts';
import {
  childrenOf,
  egressService,
  optionalChildren,
  sessionKeysOf,
  toolPinsHash,
} from '../templates/objects.ts';
import type { Child, Plan } from '../templates/objects.ts';
import type { RemoteProxySpec, ServerSpec } from '../templates/run-config.ts';
import { besideOf, finding, kinds, letGo, writeStatus } from './context.ts';
import type { Context, Controller, CustomResource, Outcome, Pass } from './context.ts';
import { checkImages } from './image-check.ts';
import {
  PROBLEM_POLL_MS,
  Stop,
  checkRateLimits,
  checkReplicas,
  checkTemplate,
  planOf,
  restartOf,
  specOf,
  stopOf,
} from './plan.ts';
import { KEY_CHECK_MS } from './session-keys.ts';
import { isReady, readinessOf } from './readiness.ts';
import type { PodController } from './readiness.ts';
import { resolveReferences } from './references.ts';
import { SECRET_POLL_MS } from './secret-reads.ts';

/** The pods of a proxy are not watched, so they are looked at again after this time while none of them is ready. */
const REMOTE_POLL_MS = 5_000;
const FIRST_POD_POLL_MS = 2_000;
const LAST_POD_POLL_MS = 5 * 60_000;

/** The controller of servers. */
export const serverController: Controller = { type: kinds.server, reconcile };

/** The controller of proxies in front of remote servers. */
export const remoteProxyController: Controller = { type: kinds.remoteProxy, reconcile: reconcileRemote };

async function reconcile(context: Context, key: string, signal: AbortSignal): Outcome {
  return settleAndReport(context, context.cache(kinds.server).get<CustomResource>(key), signal);
}

async function reconcileRemote(context: Context, key: string, signal: AbortSignal): Outcome {
  return settleAndReport(context, context.cache(kinds.remoteProxy).get<CustomResource>(key), signal);
}

/** What a pass has found so far, which is also reported if it stops. */
interface Report {
  findings: readonly Finding[];
  status: Readonly<Record<string, unknown>>;
}

/** A pass that stopped, with everything that it had found. */
class Stopped extends Error {
  readonly found: Report;

  constructor(cause: unknown, found: Report) {
    super('the pass stopped', { cause });
    this.found = found;
  }
}

async function settleAndReport(
  context: Context,
  resource: CustomResource | undefined,
  signal: AbortSignal,
): Outcome {
  if (resource === undefined) return;
  const pass = { context, resource, signal };
  if (resource.metadata.deletionTimestamp !== undefined) return letGo(pass);
  try {
    const { findings, status, againAfterMs } = await settle(pass);
    await writeStatus(pass, status, findings);
    return againAfterMs === undefined ? undefined : { againAfterMs };
  } catch (error) {
    const { cause, found } = error instanceof Stopped ? error : { cause: error, found: nothing };
    const stop = stopOf(cause);
    if (stop === undefined) throw cause;
    const others = found.findings.filter(({ type }) => type !== stop.finding.type);
    const failed = [...others, stop.finding, finding('Ready', false, stop.finding.reason, stop.message)];
    await writeStatus(pass, { ...found.status, phase: 'Failed', message: stop.message }, failed);
    return stop.againAfterMs === undefined ? undefined : { againAfterMs: stop.againAfterMs };
  }
}

const nothing: Report = { findings: [], status: {} };

/**
 * Brings all children of a resource to their wanted state. Throws `Stopped`, whose cause is `Stop` or an error that `stopOf`
 * knows.
 */
async function settle(pass: Pass): Promise<Report & { againAfterMs?: number | undefined }> {
  let found = nothing;
  try {
    for await (const more of steps(pass)) {
      found = {
        findings: [...found.findings, ...(more.findings ?? [])],
        status: { ...found.status, ...more.status },
      };
      if (more.againAfterMs !== undefined) return { ...found, againAfterMs: more.againAfterMs };
    }
    return found;
  } catch (error) {
    throw new Stopped(error, found);
  }
}

/** What a step has found. A delay ends the pass. */
interface Step extends Partial<Report> {
  againAfterMs?: number | undefined;
}

async function* steps(pass: Pass): AsyncGenerator<Step, void, void> {
  const { context, resource } = pass;
  const { kind, metadata } = resource;
  const spec = specOf(resource);
  const server = kind === 'MCPServer' ? (spec as ServerSpec) : undefined;
  yield { findings: checkGroup(pass, spec) };
  if (server !== undefined) yield { findings: checkTemplate(server) };
  yield { findings: [...checkReplicas(spec), ...checkRateLimits(spec)] };
  const references = await resolveReferences(pass, spec);
  yield {
    findings: [finding('ReferencesResolved', true, 'Resolved', 'All referenced objects exist.')],
    status: {
      ...(references.toolHash === undefined ? {} : { toolConfigHash: references.toolHash }),
      ...(references.exchangeHash === undefined ? {} : { externalAuthConfigHash: references.exchangeHash }),
    },
  };
  if (server !== undefined) {
    const image = checkImages(context, resource, server);
    if (image.status === 'False') throw new Stop(image, PROBLEM_POLL_MS);
    yield { findings: [image] };
  }
  const { plan, access } = planOf(context, resource, { spec, references });
  yield { findings: [access] };
  await checkRunConfig(plan.runConfig, plan.authorization);
  const applied = await applyAll(context, plan, pass.signal);
  yield { status: { url: urlOf(plan.proxied.kind, metadata.name, plan.proxied.namespace, spec.port) } };
  const ready = await readinessOf(context, applied, pass.signal);
  yield { findings: await pinFindings(pass, plan, ready.isReady), status: pinStatus(plan) };
  const remote = server === undefined ? await remoteFinding(pass, applied.deployment) : undefined;
  if (remote !== undefined) yield { findings: [remote] };
  if (server !== undefined) await replaceBrokenPod(context, applied.statefulSet, pass.signal);
  await processRestart(pass);
  const isWaiting = remote !== undefined && remote.status !== 'True';
  yield {
    findings: [finding('Ready', ready.isReady, ready.reason, ready.message)],
    status: {
      phase: ready.isReady ? (server === undefined ? 'Ready' : 'Running') : 'Pending',
      ...(ready.isReady ? {} : { message: ready.message }),
    },
    againAfterMs: shortest(
      isWaiting ? REMOTE_POLL_MS : undefined,
      references.secretVersions === '' && references.storageVersions === undefined
        ? undefined
        : SECRET_POLL_MS,
      ready.isReady ? undefined : podPollMs(pass),
      sessionKeysOf(plan) === undefined ? undefined : KEY_CHECK_MS,
    ),
  };
}

/** Compares the listed tools with the pins, and tells of a change for the worse. */
async function pinFindings(
  { context, resource, signal }: Pass,
  plan: Plan,
  isRolledOut: boolean,
): Promise<Finding[]> {
  const findings = await context.listedTools.compare(plan, { isRolledOut, signal });
  const differing = findings.find(({ status }) => status === 'False');
  const before = resource.status?.conditions?.find(({ type }) => type === differing?.type);
  if (differing !== undefined && before?.message !== differing.message) {
    const { reason, message: note } = differing;
    await context.recorder.record(resource, { type: 'Warning', reason, action: 'ComparePins', note }, signal);
  }
  return findings;
}

function pinStatus(plan: Plan): Record<string, unknown> {
  const hash = toolPinsHash(plan);
  return hash === undefined ? {} : { toolPinsHash: hash };
}

function shortest(...delays: (number | undefined)[]): number | undefined {
  const known = delays.filter((delay) => delay !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** The time until the next look at pods and events, which are not watched: half of the time that has passed so far. */
function podPollMs({ context, resource }: Pass): number {
  const ready = resource.status?.conditions?.find(({ type }) => type === 'Ready');
  const since = ready?.status === 'False' ? Date.parse(ready.lastTransitionTime) : Number.NaN;
  const passedMs = Number.isNaN(since) ? 0 : context.now().getTime() - since;
  return Math.min(Math.max(passedMs / 2, FIRST_POD_POLL_MS), LAST_POD_POLL_MS);
}

function checkGroup({ context, resource }: Pass, { groupRef }: ServerSpec | RemoteProxySpec): Finding[] {
  if (groupRef === undefined || groupRef === '') return [];
  const group = context.cache(kinds.group).get<CustomResource>(besideOf(resource, groupRef));
  const isGone = group === undefined || group.metadata.deletionTimestamp !== undefined;
  return [
    isGone
      ? finding('GroupRefValidated', false, 'GroupRefNotFound', `MCPGroup ${groupRef} not found`)
      : finding('GroupRefValidated', true, 'GroupRefIsValid', `MCPGroup ${groupRef} exists.`),
  ];
}

const STRATEGY = 'mcpserver.toolhive.stacklok.dev/restart-strategy';
const PROCESSED = 'mcpserver.toolhive.stacklok.dev/last-processed-restart';

async function processRestart({ context, resource, signal }: Pass): Promise<void> {
  const wanted = restartOf(resource);
  const { annotations = {}, name, namespace = '' } = resource.metadata;
  if (wanted === undefined || annotations[PROCESSED] === wanted) return;
  const last = Date.parse(annotations[PROCESSED] ?? '');
  if (last >= Date.parse(wanted)) return;
  const isServer = resource.kind === 'MCPServer';
  if (annotations[STRATEGY] === 'immediate') {
    // The complete selectors, because pods of others can have some of these labels.
    const own = [proxyLabels(resource.kind as Plan['proxied']['kind'], name)];
    for (const labels of isServer ? [...own, serverLabels(name)] : own) {
      const labelSelector = selectorOf(labels);
      const { items } = await context.client.list(types.pod, { namespace, labelSelector, signal });
      for (const { metadata } of items) await deletePod(context, metadata, signal);
    }
  }
  const type = isServer ? kinds.server : kinds.remoteProxy;
  const patch = { metadata: { annotations: { [PROCESSED]: wanted } } };
  context.cache(type).observe(await context.client.patch(type, resource.metadata, patch, signal));
}

async function deletePod(
  context: Context,
  pod: { name: string; namespace?: string; uid?: string },
  signal: AbortSignal,
): Promise<void> {
  try {
    await context.client.delete(types.pod, pod, { uid: pod.uid, signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

async function applyAll(
  context: Context,
  planned: Plan,
  signal: AbortSignal,
): Promise<{ deployment?: PodController; statefulSet?: PodController }> {
  const applied: { deployment?: PodController; statefulSet?: PodController } = {};
  const gateway = egressService(planned);
  const stored = gateway && (await context.applier.apply(gateway.type, gateway.object, signal));
  const address = (stored as { spec?: { clusterIP?: string } } | undefined)?.spec?.clusterIP;
  const plan = { ...planned, egressAddress: address };
  let dispute: Dispute | undefined;
  const apply = async ({ type, object }: Child): Promise<void> => {
    const stored = await context.applier.apply(type, object, signal).catch((error: unknown) => {
      if (error instanceof Dispute) {
        dispute ??= error; // the other objects do not wait for its end
        return undefined;
      }
      // The API server refuses the content of the spec. Another attempt without a change would fail too.
      if (isRefused(error)) {
        const isTemplate = type.kind === 'StatefulSet' || type.kind === 'Deployment';
        throw new Stop(
          finding(
            isTemplate ? 'PodTemplateValid' : 'ReferencesResolved',
            false,
            isTemplate ? 'InvalidPodTemplateSpec' : 'InvalidSpec',
            error.message,
          ),
          PROBLEM_POLL_MS,
        );
      }
      if (isForbidden(error)) {
        throw new Stop(finding('ReferencesResolved', false, 'Forbidden', error.message), PROBLEM_POLL_MS);
      }
      throw error;
    });
    if (type.kind === 'Deployment') applied.deployment = stored as unknown as PodController;
    if (type.kind === 'StatefulSet') applied.statefulSet = stored as unknown as PodController;
  };
  const children = childrenOf(plan);
  const keys = sessionKeysOf(plan);
  const { namespace, name } = plan.proxied;
  const proxies = context
    .cache(types.deployment)
    .get<PodController>(keyOf({ metadata: { name, namespace } }));
  const isWaiting = proxies !== undefined && !isReady(proxies);
  if (keys !== undefined)
    await context.sessionKeys.keep({ name: keys, namespace }, plan.owner, { isWaiting, signal });
  const applyStage = (stage: string): Promise<void> =>
    all(children.filter(({ type }) => (stages[type.kind] ?? 'first') === stage).map(apply));
  await applyStage('first');
  try {
    await applyStage('named in roles');
    await context.listedTools.keep(plan, signal);
  } catch (error) {
    if (error instanceof NameClash) await withdrawRole(context, plan, signal);
    throw error;
  }
  for (const stage of ['role', 'binding', 'proxy']) await applyStage(stage);
  const wanted = gateway === undefined ? children : [gateway, ...children];
  for (const { type, name } of optionalChildren(plan, wanted)) {
    await context.applier.remove(type, { name, namespace }, plan.owner.uid, signal);
  }
  if (dispute !== undefined) throw dispute;
  return applied;
}

/**
 * When objects are applied. A role names pods and a ConfigMap, so it is granted only when those belong to the resource.
 * Otherwise, people who may only create resources could choose the name of any StatefulSet to attach to its pods. The API
 * server refuses a RoleBinding without its Role. The proxies start with everything else in place.
 */
const stages: Readonly<Record<string, string>> = {
  StatefulSet: 'named in roles',
  Role: 'role',
  RoleBinding: 'binding',
  Deployment: 'proxy',
};

/** Removes the permissions of the proxies, which name objects of another owner by now. */
async function withdrawRole(context: Context, { proxied, owner }: Plan, signal: AbortSignal): Promise<void> {
  const { kind, name, namespace } = proxied;
  const role = { name: namesOf(kind, name).proxyAccount, namespace };
  for (const type of [types.roleBinding, types.role])
    await context.applier.remove(type, role, owner.uid, signal);
}

/** Waits until everything has ended, so that nothing of a failed pass goes on. Throws the first error. */
async function all(actions: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(actions)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

interface ProxyPod extends KubernetesObject {
  status?: { containerStatuses?: { name: string; started?: boolean; ready: boolean }[] };
}

/**
 * Says what the proxy knows about its remote server. A proxy is alive as soon as it runs and ready while its server
 * answers, so a proxy that has started and is not ready waits for its server.
 */
async function remoteFinding(
  { context, resource, signal }: Pass,
  deployment: PodController | undefined,
): Promise<Finding> {
  const {
    kind,
    metadata: { name, namespace = '' },
    spec,
  } = resource;
  const { remoteURL } = spec as RemoteProxySpec;
  if (deployment !== undefined && isReady(deployment))
    return finding('RemoteAvailable', true, 'RemoteAnswers', `${remoteURL} answers the proxy.`);
  const labelSelector = selectorOf(proxyLabels(kind as 'MCPRemoteProxy', name));
  const { items } = await context.client.list<ProxyPod>(types.pod, { namespace, labelSelector, signal });
  const isWaiting = items.some(({ metadata, status }) =>
    status?.containerStatuses?.some(
      (container) =>
        metadata.deletionTimestamp === undefined && container.started === true && !container.ready,
    ),
  );
  return isWaiting
    ? finding(
        'RemoteAvailable',
        false,
        'RemoteUnavailable',
        `${remoteURL} does not answer the proxy. The proxy repeats its request until the server answers.`,
      )
    : {
        ...finding('RemoteAvailable', false, 'ProxyNotStarted', 'The proxy has not started.'),
        status: 'Unknown',
      };
}

function selectorOf(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([label, value]) => `${label}=${value}`)
    .join(',');
}

/** A StatefulSet waits for a pod that never becomes ready before it takes a new template, so that pod has to go. */
async function replaceBrokenPod(
  context: Context,
  statefulSet: PodController | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { currentRevision, updateRevision, readyReplicas = 0, replicas = 0 } = statefulSet?.status ?? {};
  if (statefulSet === undefined || currentRevision === updateRevision || readyReplicas > 0 || replicas === 0)
    return;
  const { name, namespace = '' } = statefulSet.metadata;
  const labelSelector = selectorOf(serverLabels(name));
  const { items } = await context.client.list(types.pod, { namespace, labelSelector, signal });
  for (const { metadata } of items) {
    const revision = metadata.labels?.['controller-revision-hash'];
    if (revision !== updateRevision && metadata.deletionTimestamp === undefined)
      await deletePod(context, metadata, signal);
  }
}
