import type { KubernetesClient } from '@toolhive/kubernetes/client';
import type { KubernetesObject, OwnerReference, ResourceType } from '@toolhive/kubernetes/object';
import { isConflict, isNotFound } from '@toolhive/kubernetes/status';
import type { Applier } from '../runtime/applier.ts';
import { canonicalJson } from '../runtime/canonical.ts';
import { conditionsOf } from '../runtime/conditions.ts';
import type { Condition, Finding } from '../runtime/conditions.ts';
import type { SecretReads } from './secret-reads.ts';
import type { ListedToolsOfAll } from './listed-tools.ts';
import type { SessionKeyring } from './session-keys.ts';
import type { RegistryImages } from './image-check.ts';
import type { SourceReader } from './source-process.ts';
import type { StatusFields } from './status-fields.ts';
import type { Recorder } from '../runtime/events.ts';
import { keyOf } from '../runtime/reflector.ts';
import type { Reflector } from '../runtime/reflector.ts';
import { resources } from '../crds/crds.ts';
import { apiGroup, apiVersion } from '../crds/resource.ts';
import type { Resource } from '../crds/resource.ts';

/** The images and addresses that the operator was started with. */
export interface Settings {
  runnerImage: string;
  registryImage: string;
  proxyHost: string;
  /** The Secrets with credentials for image registries that all generated pods use. */
  imagePullSecrets: readonly string[];
}

/** Everything that a controller works with. */
export interface Context {
  client: KubernetesClient;
  cache: (type: ResourceType) => Reflector;
  /** The metadata of all ConfigMaps, for changes of those that specs refer to. */
  configMaps: Reflector;
  applier: Applier;
  sessionKeys: SessionKeyring;
  listedTools: ListedToolsOfAll;
  secrets: SecretReads;
  images: RegistryImages;
  statusFields: StatusFields;
  recorder: Recorder;
  sources: SourceReader;
  settings: Settings;
  /** Whether the platform assigns the users of pods. */
  isOpenShift: boolean;
  now: () => Date;
}

/** A custom resource with the status of its kind. */
export interface CustomResource extends KubernetesObject {
  spec?: unknown;
  status?: Record<string, unknown> & { conditions?: Condition[] };
}

/** One pass over a resource. */
export interface Pass {
  context: Context;
  resource: CustomResource;
  signal: AbortSignal;
}

/** The outcome of a pass. Without a delay, the next pass follows a change. */
export type Outcome = Promise<{ againAfterMs?: number } | void>;

/** A controller: one pass over the object with a key. */
export interface Controller {
  type: ResourceType;
  reconcile: (context: Context, key: string, signal: AbortSignal) => Outcome;
  /** How many objects can have a pass at once, if not as many as of other kinds. */
  concurrency?: number;
}

/** The definition of a kind. */
export function resourceOf(kind: string): Resource {
  const found = resources.find((resource) => resource.kind === kind);
  if (found === undefined) throw new Error(`there is no kind ${kind}`);
  return found;
}

/** The type of a custom resource. */
function customType(kind: string): ResourceType {
  return { apiVersion: `${apiGroup}/${apiVersion}`, kind, plural: resourceOf(kind).plural };
}

export const kinds = {
  server: customType('MCPServer'),
  remoteProxy: customType('MCPRemoteProxy'),
  toolConfig: customType('MCPToolConfig'),
  externalAuth: customType('MCPExternalAuthConfig'),
  group: customType('MCPGroup'),
  registry: customType('MCPRegistry'),
};

/** The owner reference of all children of a custom resource. */
export function ownerOf({ apiVersion, kind, metadata }: CustomResource): OwnerReference {
  return {
    apiVersion,
    kind,
    name: metadata.name,
    uid: metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** The key of another object in the same namespace. */
export function besideOf({ metadata }: CustomResource, name: string): string {
  return keyOf({
    metadata: { name, ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }) },
  });
}

/** Whether two versions of a custom resource differ only in parts that the operator writes. */
export function hasSameWish(one: CustomResource, other: CustomResource | undefined): boolean {
  const wishOf = (object: CustomResource | undefined): string => {
    const { labels, annotations, finalizers, deletionTimestamp } = object?.metadata ?? {};
    return canonicalJson([object?.spec, labels, annotations, finalizers, deletionTimestamp]);
  };
  return wishOf(one) === wishOf(other);
}

const STATUS_MANAGER = 'toolhive-operator-status';

/** Writes a status if it differs from the stored one. Conditions of other programs stay. */
export async function writeStatus(
  { context, resource, signal }: Pass,
  status: Record<string, unknown>,
  outcome: readonly Finding[],
): Promise<void> {
  const { apiVersion, kind, metadata, status: live = {} } = resource;
  const findings = [...outcome, ...progressOf(outcome, status)];
  const generation = metadata.generation ?? 1;
  const conditions = conditionsOf(findings, live.conditions, generation, context.now());
  const all = { ...status, observedGeneration: generation, conditions };
  const wanted = context.statusFields.known(kind, all);
  await tell({ context, resource, signal }, findings);
  if (canonicalJson(comparable(live, findings)) === canonicalJson(comparable(wanted, findings))) return;
  try {
    const stored = await context.client.applyStatus<CustomResource & { status: object }>(
      customType(kind),
      {
        apiVersion,
        kind,
        metadata: {
          name: metadata.name,
          ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
        },
        status: wanted,
      },
      { fieldManager: STATUS_MANAGER, force: true, signal },
    );
    context.cache(customType(kind)).observe(stored);
  } catch (error) {
    if (isNotFound(error)) return; // deleted meanwhile
    if (!context.statusFields.learn(kind, wanted, error)) throw error;
    await writeStatus({ context, resource, signal }, status, outcome);
  }
}

/** The reasons of objects that only need time. */
const progressing = new Set(['DeploymentNotReady', 'Syncing', 'NotReady', 'DeletionBlocked']);

/** Writes an event when an object becomes ready, and while it cannot. The recorder limits repetitions. */
async function tell({ context, resource, signal }: Pass, findings: readonly Finding[]): Promise<void> {
  const before = resource.status?.conditions?.find(({ type }) => type === 'Ready');
  const ready = findings.find(({ type }) => type === 'Ready');
  if (ready === undefined) return;
  const { reason, message: note } = ready;
  const isFailed = ready.status !== 'True' && !progressing.has(reason);
  const isNew = ready.status === 'True' && before?.status !== 'True';
  if (isFailed)
    await context.recorder.record(resource, { type: 'Warning', reason, action: 'Reconcile', note }, signal);
  if (isNew)
    await context.recorder.record(resource, { type: 'Normal', reason, action: 'Reconcile', note }, signal);
}

/** The conditions by which tools such as kstatus tell work from failure. Neither exists on a ready object. */
function progressOf(findings: readonly Finding[], { phase }: Record<string, unknown>): Finding[] {
  const ready = findings.find(({ type }) => type === 'Ready');
  if (ready === undefined || ready.status === 'True') return [];
  return [finding(phase === 'Failed' ? 'Stalled' : 'Reconciling', true, ready.reason, ready.message)];
}

/** The condition types that the operator can write. Other programs can add others. */
const ownConditions = new Set([
  'Ready',
  'Reconciling',
  'Stalled',
  'GroupRefValidated',
  'PodTemplateValid',
  'ImageValidated',
  'ReferencesResolved',
  'PermissionsEnforced',
  'ReplicasSupported',
  'SessionsShared',
  'RateLimitsShared',
  'ToolsPinned',
  'ObjectsAsWanted',
  'AuthConfigured',
  'RemoteAvailable',
  'Deletable',
  'SecretResolved',
  'MCPServersChecked',
  'SourceAvailable',
  'DataValid',
  'SyncSuccessful',
  'APIReady',
]);

function comparable(
  status: Record<string, unknown> & { conditions?: Condition[] },
  findings: readonly Finding[],
): object {
  const wanted = new Set(findings.map(({ type }) => type));
  const conditions = (status.conditions ?? [])
    .filter(({ type }) => wanted.has(type) || ownConditions.has(type))
    .toSorted((a, b) => (a.type < b.type ? -1 : 1));
  return { ...status, conditions };
}

/** Adds a finalizer. Returns false if the object changed meanwhile, so that another pass follows. */
export async function setFinalizers(
  { context, resource, signal }: Pass,
  finalizers: readonly string[],
): Promise<void> {
  const { metadata, kind } = resource;
  try {
    const stored = await context.client.patch<CustomResource>(
      customType(kind),
      metadata,
      { metadata: { finalizers, resourceVersion: metadata.resourceVersion } },
      signal,
    );
    if (stored.metadata.deletionTimestamp === undefined || finalizers.length > 0)
      context.cache(customType(kind)).observe(stored);
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error; // a change follows, and with it another pass
  }
}

/** The finalizers that earlier operators left on objects of a kind. */
export const finalizersOf: Record<string, string> = {
  MCPServer: 'mcpserver.toolhive.stacklok.dev/finalizer',
  MCPToolConfig: 'toolhive.stacklok.dev/toolconfig-finalizer',
  MCPExternalAuthConfig: 'mcpexternalauthconfig.toolhive.stacklok.dev/finalizer',
  MCPRegistry: 'mcpregistry.toolhive.stacklok.dev/finalizer',
  MCPGroup: 'toolhive.stacklok.dev/mcpgroup-finalizer',
};

/** Lets a deleted object go. The garbage collector deletes its children. */
export async function letGo(pass: Pass): Promise<void> {
  const { resource } = pass;
  const left = resource.metadata.finalizers ?? [];
  const others = left.filter((name) => name !== finalizersOf[resource.kind]);
  if (others.length < left.length) await setFinalizers(pass, others);
}

/** A condition that holds or does not. */
export function finding(type: string, holds: boolean, reason: string, message = ''): Finding {
  return { type, status: holds ? 'True' : 'False', reason, message };
}
