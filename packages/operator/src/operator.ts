import { messageOf } from '@toolhive/contract/failure';
import { KubernetesClient } from '@toolhive/kubernetes/client';
import type { ClientOptions } from '@toolhive/kubernetes/client';
import type { ClusterConfig } from '@toolhive/kubernetes/config';
import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject, ResourceType } from '@toolhive/kubernetes/object';
import { ApiStatus, isGone, isNotFound } from '@toolhive/kubernetes/status';
import type { Logger } from 'pino';
import { besideOf, hasSameWish, kinds } from './controllers/context.ts';
import type { Context, Controller, CustomResource, Settings } from './controllers/context.ts';
import { RegistryImages } from './controllers/image-check.ts';
import { groupController, groupOf } from './controllers/mcp-group.ts';
import { registryController } from './controllers/mcp-registry.ts';
import { remoteProxyController, serverController } from './controllers/proxied.ts';
import { externalAuthController, referenceOf, toolConfigController } from './controllers/referenced.ts';
import { SecretReads } from './controllers/secret-reads.ts';
import { ListedToolsOfAll } from './controllers/listed-tools.ts';
import { SessionKeyring } from './controllers/session-keys.ts';
import { Passes, reportCorrection } from './controllers/reports.ts';
import { SourceReader } from './controllers/source-process.ts';
import { StatusFields } from './controllers/status-fields.ts';
import { Applier } from './runtime/applier.ts';
import { Recorder } from './runtime/events.ts';
import { Leadership } from './runtime/lease.ts';
import { detectOpenShift } from './runtime/platform.ts';
import { OperatorMetrics } from './runtime/metrics.ts';
import { Queue } from './runtime/queue.ts';
import { Scopes } from './runtime/scopes.ts';
import type { Namespace } from './runtime/scopes.ts';
import { Spaced } from './runtime/spaced.ts';
import { Turns } from './runtime/turns.ts';
import { Reflector, keyOf } from './runtime/reflector.ts';
import { listen } from './runtime/servers.ts';
import { MANAGER, namesOf } from './templates/names.ts';
import type { ProxiedKind } from './templates/names.ts';

export interface OperatorOptions extends Settings {
  config: ClusterConfig;
  log: Logger;
  /** The namespaces to work in. Empty means all. */
  namespaces: readonly string[];
  /** The namespace of the operator, for its Lease. */
  namespace: string;
  /** The name of this replica. */
  identity: string;
  leaderElection: boolean;
  /** The name of the Lease that the replicas share. Another installation in the same namespace has another Lease. */
  lease?: string;
  /** Addresses such as `:8080`. */
  metricsAddress: string;
  probeAddress: string;
  /** The program of processes that read the sources of registries. */
  sourceReader: URL;
}

/** The name of the Lease of an installation without a name of its own. */
export const LEASE = 'toolhive-operator-leader-election';

const controllers: readonly Controller[] = [
  serverController,
  remoteProxyController,
  toolConfigController,
  externalAuthController,
  groupController,
  registryController,
];

/** The kinds of children, which all have the label of the operator. */
const childTypes: readonly ResourceType[] = [
  types.configMap,
  types.deployment,
  types.networkPolicy,
  types.role,
  types.roleBinding,
  types.service,
  types.serviceAccount,
  types.statefulSet,
];

/** Most of a pass is waiting for the API server, which limits its clients itself. */
const CONCURRENCY = 16;
/** With more lists at once, the API server refuses requests, also those for the Lease. */
const LISTS = 16;
/** The API server answers within this time, or the connection is dead. */
const ANSWER_MS = 10_000;
/** A write waits for admission webhooks, which have up to 30 s. */
const WRITE_ANSWER_MS = 35_000;
/** The name of the copy with the metadata of all ConfigMaps. */
const CONFIG_MAPS = 'metadata of ConfigMaps';

/**
 * Runs the operator until the signal aborts. Rejects if this replica loses its leadership, because the process has to end
 * then.
 */
export async function runOperator(options: OperatorOptions, signal: AbortSignal): Promise<void> {
  const { config, log } = options;
  const metrics = new OperatorMetrics();
  const clientOptions: ClientOptions = {
    userAgent: 'toolhive-operator',
    onRequest: (request) => metrics.request(request),
    timeoutMs: ANSWER_MS,
  };
  let isHealthy = (): boolean => true;
  let readiness = (): { code: number; text: string } => ({ code: 200, text: 'ok\n' });
  await using metricsServer = await listen(options.metricsAddress, {
    '/metrics': async () => ({
      code: 200,
      text: await metrics.registry.metrics(),
      contentType: metrics.registry.contentType,
    }),
  });
  await using probeServer = await listen(options.probeAddress, {
    '/healthz': async () => (isHealthy() ? { code: 200, text: 'ok\n' } : { code: 503, text: 'not ok\n' }),
    '/readyz': async () => readiness(),
  });
  log.info({ metricsPort: metricsServer.port, probePort: probeServer.port }, 'listening');
  const { lease = LEASE } = options;
  metrics.leads(lease, false);
  await using electionClient = new KubernetesClient(config, clientOptions);
  const leadership = options.leaderElection ? await lead(options, electionClient, signal) : undefined;
  if (signal.aborted) return leadership?.release();
  metrics.leads(lease, true);
  log.info({ identity: options.identity }, 'leading');
  const ended = leadership === undefined ? signal : AbortSignal.any([signal, leadership.lost]);
  await using client = new KubernetesClient(config, {
    ...clientOptions,
    timeoutMs: WRITE_ANSWER_MS,
    beforeWrite() {
      if (leadership?.isCertain === false) throw new Error('this replica may no longer lead');
    },
  });
  const isOpenShift = await detectOpenShift(client, ended, (error) =>
    log.warn({ err: error }, 'platform not known yet'),
  );
  const work = new Work(options, client, metrics, isOpenShift);
  isHealthy = () => work.isFresh;
  readiness = () => work.readiness;
  await work.run(ended);
  if (leadership?.lost.aborted === true) throw new Error('another replica leads');
  await leadership?.release();
}

async function lead(
  { namespace, identity, log, lease = LEASE }: OperatorOptions,
  client: KubernetesClient,
  signal: AbortSignal,
): Promise<Leadership | undefined> {
  const onError = (error: unknown): void => log.warn({ err: error }, 'lease not available');
  try {
    return await Leadership.acquire({ client, name: lease, namespace, identity, onError }, signal);
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

/** The caches and queues of a leader. */
class Work {
  readonly #options: OperatorOptions;
  readonly #queues = new Map<string, Queue>();
  readonly #reflectors: Reflector[] = [];
  readonly #caches = new Map<string, Reflector>();
  readonly #context: Context;
  readonly #scopes: Scopes;
  readonly #turns = new Turns(LISTS);
  readonly #undefined = new Set<string>();

  constructor(
    options: OperatorOptions,
    client: KubernetesClient,
    metrics: OperatorMetrics,
    isOpenShift: boolean,
  ) {
    this.#options = options;
    const { log } = options;
    const cache = (type: ResourceType): Reflector => {
      const found = this.#caches.get(type.kind);
      if (found === undefined) throw new Error(`there is no cache of ${type.kind}`);
      return found;
    };
    const recorder = new Recorder(client, options.identity, (error) =>
      log.warn({ err: error }, 'event not written'),
    );
    const own = new Set(Object.values(kinds));
    const namespaces = options.namespaces.length === 0 ? [undefined] : [...new Set(options.namespaces)];
    const names = [...[...own, ...childTypes].map(({ kind }) => kind), CONFIG_MAPS];
    this.#scopes = new Scopes(namespaces, names, (namespace) => this.#open(namespace));
    metrics.scopes(() => this.#scopes.report());
    for (const type of [...own, ...childTypes]) {
      const reflector = this.#reflect(client, type, namespaces, type.kind, {
        ...(own.has(type)
          ? {}
          : { labelSelector: `app.kubernetes.io/managed-by=${MANAGER}`, isPacked: true, keepsRecords: true }),
        onChange: (object, previous, isOwn) => this.#changed(type, object, previous, isOwn),
      });
      this.#caches.set(type.kind, reflector);
    }
    const configMaps = this.#reflect(client, types.configMap, namespaces, CONFIG_MAPS, {
      metadataOnly: true,
      isPacked: true,
      onChange: (object) => this.#configMapChanged(object),
    });
    this.#context = {
      client,
      cache,
      configMaps,
      secrets: new SecretReads(client, () => new Date()),
      sessionKeys: new SessionKeyring(client, () => new Date()),
      listedTools: new ListedToolsOfAll(client, configMaps),
      applier: new Applier(client, cache, {
        onCorrection(correction, signal) {
          metrics.correction(correction.object.kind);
          return reportCorrection(correction, { recorder, log }, signal);
        },
        onDispute: (kind) => metrics.dispute(kind),
      }),
      images: new RegistryImages(cache),
      statusFields: new StatusFields((kind, field) =>
        log.warn(
          { kind, field },
          `the installed CRD of ${kind} has no status field ${field}. Upgrade the chart toolhive-operator-crds.`,
        ),
      ),
      recorder,
      sources: new SourceReader(options.sourceReader),
      settings: options,
      isOpenShift,
      now: () => new Date(),
    };
    const passes = new Passes(this.#context, log);
    for (const controller of controllers) {
      const { type, concurrency = CONCURRENCY } = controller;
      const name = type.kind.toLowerCase();
      this.#queues.set(
        type.kind,
        new Queue({
          concurrency,
          observer: metrics.queue(name),
          reconcile: (key, signal) => metrics.pass(name, () => passes.run(controller, key, signal)),
          onError: (key, error, retryInMs) =>
            log.warn({ err: error, controller: name, key, retryInMs: Math.round(retryInMs) }, 'pass failed'),
        }),
      );
    }
  }

  get isFresh(): boolean {
    return this.#reflectors.every((reflector) => reflector.isFresh);
  }

  /** The answer to the question whether the operator works, with the namespaces that it cannot read. */
  get readiness(): { code: number; text: string } {
    const problems = this.#scopes.report().filter(({ problem }) => problem !== undefined);
    const lines = problems.map(
      ({ namespace, problem }) =>
        `${namespace === '' ? 'all namespaces' : `namespace ${namespace}`}: ${problem}`,
    );
    const { isReady } = this.#scopes;
    return { code: isReady ? 200 : 503, text: `${[isReady ? 'ok' : 'not ok', ...lines].join('\n')}\n` };
  }

  async run(signal: AbortSignal): Promise<void> {
    const following = this.#reflectors.map((reflector) => reflector.run(signal));
    const ended = Promise.withResolvers<void>();
    if (signal.aborted) ended.resolve();
    signal.addEventListener('abort', () => ended.resolve(), { once: true });
    await Promise.race([this.#scopes.tried, ended.promise]);
    await Promise.race([Promise.all([...this.#queues.values()].map((queue) => queue.idle())), ended.promise]);
    this.#options.log.info('settled');
    await ended.promise;
    await Promise.all([...this.#queues.values()].map((queue) => queue.stop()));
    await Promise.all(following);
  }

  /** Starts the work in a namespace whose objects are all known. */
  #open(namespace: Namespace): void {
    for (const type of Object.values(kinds)) {
      for (const object of this.#context.cache(type).all()) {
        if (namespace === undefined || object.metadata.namespace === namespace)
          this.#add(type.kind, keyOf(object));
      }
    }
  }

  #reflect(
    client: KubernetesClient,
    type: ResourceType,
    namespaces: readonly Namespace[],
    name: string,
    options: {
      labelSelector?: string;
      metadataOnly?: boolean;
      isPacked?: boolean;
      keepsRecords?: boolean;
      onChange: (object: KubernetesObject, previous: KubernetesObject | undefined, isOwn: boolean) => void;
    },
  ): Reflector {
    const { log } = this.#options;
    const reports = new Spaced();
    const reflector = new Reflector({
      client,
      type,
      namespaces,
      turns: this.#turns,
      ...options,
      onRead: (namespace) => {
        reports.forget(`${name} ${namespace}`);
        this.#undefined.delete(name);
        this.#scopes.read(namespace, name);
      },
      onError: (error, retryInMs, namespace) => {
        const isUndefined = isNotFound(error) && Object.values(kinds).includes(type);
        const message = isUndefined ? `CRDs are not installed: ${type.kind} not found` : messageOf(error);
        if (isUndefined) this.#skip(namespace, name);
        if (error instanceof ApiStatus && !isGone(error)) this.#scopes.failed(namespace, name, message);
        if (!reports.isDue(`${name} ${namespace}`, problemOf(error))) return;
        const details = { kind: type.kind, namespace, retryInMs: Math.round(retryInMs) };
        if (isUndefined) log.error(details, `${message}. Install the chart toolhive-operator-crds.`);
        else log.warn({ err: error, ...details }, 'watch failed');
      },
    });
    this.#reflectors.push(reflector);
    return reflector;
  }

  /** A kind without a definition has no objects, so the others need not wait, unless none has a definition. */
  #skip(namespace: Namespace, kind: string): void {
    this.#undefined.add(kind);
    if (this.#undefined.size < Object.keys(kinds).length) this.#scopes.read(namespace, kind);
  }

  #add(kind: string, key: string): void {
    const [namespace] = key.split('/');
    if (this.#scopes.isOpen(namespace)) this.#queues.get(kind)?.add(key);
  }

  /**
   * A pass knows what it has written itself, so such a change leads to passes over other objects only. The answer to a
   * status can contain a new spec, though, which no watch reports again.
   */
  #changed(
    type: ResourceType,
    object: KubernetesObject,
    previous: KubernetesObject | undefined,
    isOwn: boolean,
  ): void {
    const isKnown = isOwn && hasSameWish(object, previous);
    if (!isKnown && this.#queues.has(type.kind)) this.#add(type.kind, keyOf(object));
    const isShared = this.#queues.has(type.kind) && concernsOthers(type, object, previous);
    for (const version of previous === undefined ? [object] : [object, previous]) {
      if (!isOwn) this.#tellOwners(version);
      if (isShared) this.#tellRelated(type, version);
    }
  }

  #tellOwners(object: CustomResource): void {
    for (const owner of object.metadata.ownerReferences ?? []) {
      if (this.#queues.has(owner.kind)) this.#add(owner.kind, besideOf(object, owner.name));
    }
  }

  /** Adds every object that depends on a changed one. */
  #tellRelated(type: ResourceType, object: CustomResource): void {
    if (type === kinds.server || type === kinds.remoteProxy) {
      const tools = referenceOf(object, 'toolConfigRef');
      const exchange = referenceOf(object, 'externalAuthConfigRef');
      const group = groupOf(object);
      if (tools !== undefined) this.#add('MCPToolConfig', besideOf(object, tools));
      if (exchange !== undefined) this.#add('MCPExternalAuthConfig', besideOf(object, exchange));
      if (group !== undefined) this.#add('MCPGroup', besideOf(object, group));
      // Two resources can want one name.
      this.#add(type === kinds.server ? 'MCPRemoteProxy' : 'MCPServer', keyOf(object));
    }
    if (type === kinds.toolConfig) this.#addUsers(object, (user) => referenceOf(user, 'toolConfigRef'));
    if (type === kinds.externalAuth)
      this.#addUsers(object, (user) => referenceOf(user, 'externalAuthConfigRef'));
    if (type === kinds.group) this.#addUsers(object, groupOf);
    if (type === kinds.registry) this.#addAll(object);
  }

  #addUsers(object: CustomResource, referenceTo: (user: CustomResource) => string | undefined): void {
    for (const type of [kinds.server, kinds.remoteProxy]) {
      for (const user of this.#context.cache(type).all<CustomResource>()) {
        if (user.metadata.namespace !== object.metadata.namespace) continue;
        if (referenceTo(user) === object.metadata.name) this.#add(type.kind, keyOf(user));
      }
    }
  }

  #addAll({ metadata }: KubernetesObject): void {
    for (const user of this.#context.cache(kinds.server).all()) {
      if (user.metadata.namespace === metadata.namespace) this.#add('MCPServer', keyOf(user));
    }
  }

  #configMapChanged(configMap: KubernetesObject): void {
    const { name, namespace } = configMap.metadata;
    for (const type of [kinds.server, kinds.remoteProxy, kinds.registry]) {
      for (const user of this.#context.cache(type).all<CustomResource>()) {
        if (user.metadata.namespace !== namespace) continue;
        if (configMapsOf(user).includes(name)) this.#add(type.kind, keyOf(user));
      }
    }
  }
}

/** Identifies a kind of failure, without the parts of its message that differ each time. */
function problemOf(error: unknown): string {
  if (error instanceof ApiStatus) return `${error.code} ${error.reason}`;
  return error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.name) : 'unknown';
}

/**
 * Whether a change matters to other objects. The status of a resource with many users changes with each of them, so passes
 * over all users for each status would be quadratic.
 */
function concernsOthers(
  type: ResourceType,
  object: CustomResource,
  previous: CustomResource | undefined,
): boolean {
  if (!hasSameWish(object, previous)) return true;
  // The stored content decides which images are allowed, and a status tells of each new content.
  if (type === kinds.registry) return (object.spec as { enforceServers?: boolean }).enforceServers === true;
  // A Secret that appeared is reported by the status only.
  return type === kinds.externalAuth && readyOf(object) !== readyOf(previous);
}

function readyOf(object: CustomResource | undefined): string | undefined {
  return object?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
}

interface ConfigMapUser {
  permissionProfile?: { name?: string };
  oidcConfig?: { configMap?: { name?: string } };
  authzConfig?: { configMap?: { name?: string } };
  source?: { configmap?: { name?: string } };
  sessionStorage?: { tls?: { caRef?: { kind?: string; name?: string } } };
  toolPins?: { configMap?: { name?: string } };
}

/** The names of the ConfigMaps that a spec refers to, or whose content other programs write for the resource. */
function configMapsOf({ kind, metadata, spec }: CustomResource): (string | undefined)[] {
  const { permissionProfile, oidcConfig, authzConfig, source, sessionStorage, toolPins } = (spec ??
    {}) as ConfigMapUser;
  const { kind: caKind, name: ca } = sessionStorage?.tls?.caRef ?? {};
  return [
    caKind === 'ConfigMap' ? ca : undefined,
    toolPins?.configMap?.name,
    toolPins === undefined ? undefined : namesOf(kind as ProxiedKind, metadata.name).listedTools,
    permissionProfile?.name,
    oidcConfig?.configMap?.name,
    authzConfig?.configMap?.name,
    source?.configmap?.name,
  ];
}
