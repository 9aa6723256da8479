import { lookup as systemLookup } from 'node:dns';
import { mkdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ThvError, checkField, messageOf } from '@toolhive/contract/failure';
import { raiseFault } from '@toolhive/contract/fault';
import { defaultGroup, defaultRegistry } from '@toolhive/contract/names';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { ToolPinningMode } from '@toolhive/contract/tool-pins';
import { openDockerRuntime } from '@toolhive/runtime/docker';
import { GatewayProcess } from '@toolhive/runtime/gateway-process';
import { openProcessRuntime } from '@toolhive/runtime/process';
import type { Runtime } from '@toolhive/runtime/runtime';
import { identifyCallers } from '@toolhive/proxy/in-process-server';
import type { Logger } from 'pino';
import { PolicyDoubts } from '@toolhive/access/policy-doubts';
import { openWorkloadAccess } from '@toolhive/access/workload-access';
import type { WorkloadAccess } from '@toolhive/access/workload-access';
import { recordEgressDenial, recordSecretAccess } from './audit/actions.ts';
import { auditOf } from './audit/audit-config.ts';
import { AuditLog } from './audit/audit-log.ts';
import { ClientFiles } from '@toolhive/clients/client-files';
import { Listings } from './capabilities/listings.ts';
import { ProgressEvents } from './events/progress-events.ts';
import { TrafficOfAll } from './traffic/traffic.ts';
import { Events } from './events/events.ts';
import type { EventToSend } from './events/events.ts';
import type { Lookup } from '@toolhive/outgoing/guarded-fetch';
import { Groups } from './groups/groups.ts';
import { ensureMetaServers } from './groups/meta-switch.ts';
import { finishRemovals } from './groups/operate.ts';
import { Registrations } from './groups/registrations.ts';
import { RegistryStore } from '@toolhive/registry/store';
import { Runtimes } from './runtimes.ts';
import { SignIns } from '@toolhive/remote/kept';
import { remoteOpener } from '@toolhive/remote/open';
import { parseReference } from '@toolhive/secrets/reference';
import { Secrets } from '@toolhive/secrets/secrets';
import type { SecretsChange, SecretsOptions } from '@toolhive/secrets/secrets';
import { Adoption } from '@toolhive/state/adoption';
import { removeTemporaries } from '@toolhive/state/files';
import { setAside } from '@toolhive/state/set-aside';
import { Logs } from '@toolhive/state/logs';
import { takeOwnership } from '@toolhive/state/ownership';
import { homeOf, statePaths } from '@toolhive/state/paths';
import type { StatePaths } from '@toolhive/state/paths';
import { RunConfigs } from '@toolhive/state/run-configs';
import { installationSettings } from '@toolhive/state/values';
import { SettingsFile } from '@toolhive/state/settings-file';
import { Statuses } from '@toolhive/state/statuses';
import type { WorkloadId } from '@toolhive/state/workload-id';
import { NetworkDecisions } from './network/decisions.ts';
import { RuleWatchers } from './network/rule-watchers.ts';
import { WorkloadEgress } from './network/workload-egress.ts';
import { PackageInspection } from '@toolhive/registry/package-inspection';
import { PackageRecords } from '@toolhive/registry/package-records';
import { openTrustedRoot } from '@toolhive/registry/trusted-root';
import type { ReadTrustedRoot } from '@toolhive/registry/trusted-root';
import { ToolPinsOfAll } from './pinning/tool-pins.ts';
import { GrantedMounts } from './permissions/granted-mounts.ts';
import type { LocalServerOptions } from './supervision/local-server.ts';
import { pinningModeOf } from './supervision/open-proxy.ts';
import { HiddenMemory } from './permissions/hidden-memory.ts';
import { MountUse } from './permissions/mount-use.ts';
import { HomeLimit } from './supervision/home-limit.ts';
import { defaultTiming } from './supervision/supervisor.ts';
import type { Supervisor, SupervisorTiming } from './supervision/supervisor.ts';
import { isLocal, isRemote } from './workloads/describe.ts';
import { removeHome } from './workloads/homes.ts';
import { openDaemonMetaServer } from './meta/daemon-meta-server.ts';
import { Workloads } from './workloads/workloads.ts';
import type { WorkloadPart } from './workloads/workloads.ts';

export interface CoreOptions {
  /** Determines directories, the runtime, and the installers. Never passed to servers. */
  env: NodeJS.ProcessEnv;
  version: string;
  log: Logger;
  /** Replaces the runtimes of this machine, in tests. */
  runtimes?: (daemonId: string, paths: StatePaths) => Runtime[];
  timing?: Partial<SupervisorTiming>;
  /** Replaces the limit on home directories, in tests. */
  homeLimit?: ConstructorParameters<typeof HomeLimit>[0];
  /** Replaces the secret store in tests. */
  secrets?: Pick<SecretsOptions, 'keyring' | 'cost'>;
  /** Replaces the browser of the user, in tests. */
  openBrowser?: (url: string) => Promise<unknown>;
  /** Where the document is published that describes this client to authorization servers, if anywhere. */
  clientDocument?: string | undefined;
  /** Replaces how the names of remote servers are resolved, in tests. */
  lookup?: Lookup;
  /** Replaces the signature verification in tests. */
  readTrustedRoot?: ReadTrustedRoot;
  /** Replaces the clock, in tests. */
  now?: () => Date;
}

/** The composed product. Every function in this package receives it. */
export interface Core extends AsyncDisposable {
  version: string;
  /** When the daemon started, as RFC 3339. */
  startedAt: string;
  paths: StatePaths;
  log: Logger;
  events: Events;
  /** Who did what. */
  audit: AuditLog;
  settings: SettingsFile;
  registry: RegistryStore;
  secrets: Secrets;
  groups: Groups;
  clients: Registrations;
  logs: Logs;
  mounts: GrantedMounts;
  /** What servers in learning mode have used of their mounts. */
  mountUse: MountUse;
  runtimes: Runtimes;
  workloads: Workloads;
  /** What the egress gateways of all workloads have decided. */
  decisions: NetworkDecisions;
  /** The recorded tool definitions of servers, and the approved ones. */
  pins: ToolPinsOfAll;
  /** What servers listed last. */
  listings: Listings;
  /** The latest calls to each workload. */
  traffic: TrafficOfAll;
  /** Reports the progress of long operations to all event watchers. */
  progress: ProgressEvents;
  /** What is known of installed packages. */
  packages: PackageInspection;
  /** Policies that name items that servers do not offer. */
  doubts: PolicyDoubts;
  /** What governs the network access of a server with rules. */
  egressOf: LocalServerOptions['egressOf'];
  /** Who waits for changes of network rules. */
  ruleWatchers: RuleWatchers;
  /** Resolves the names of remote servers. */
  lookup: Lookup;
  /** The access rules of a run config. Throws if a rule cannot be enforced. */
  accessOf: (runConfig: RunConfig) => Promise<WorkloadAccess>;
  /** The secrets that a run config refers to, by the variable that receives each. */
  secretsOf: (runConfig: RunConfig) => Promise<Record<string, string>>;
}

/**
 * Takes ownership of the state directory and applies the desired state. Throws `conflict` if another daemon owns the
 * directory.
 */
export async function openCore(options: CoreOptions): Promise<Core> {
  const { env, version, log, lookup = systemLookup, now = () => new Date() } = options;
  const startedAt = now().toISOString();
  const paths = statePaths(env);
  await using opened = new AsyncDisposableStack();
  const { daemonId } = opened.use(await takeOwnership(paths, log));
  const registryCache = join(paths.cache, 'registry');
  await prepareDirectories(paths, registryCache, log);
  const adoption = await Adoption.begin(paths, log);

  const events = opened.use(await Events.open(paths.events, log));
  const audit = opened.use(await AuditLog.open(paths, log));
  const decisions = opened.use(await NetworkDecisions.open(paths.decisions, log));
  // What a removed workload's server still does is not reported: its name may belong to another workload.
  const nameOf = (id: WorkloadId): string | undefined => workloads.byId(id)?.runConfig.name;
  const pins = opened.use(
    await ToolPinsOfAll.open(paths.pins, {
      nameOf,
      modeOf(id): ToolPinningMode {
        const runConfig = workloads.byId(id)?.runConfig;
        return runConfig === undefined ? 'off' : pinningModeOf(runConfig);
      },
      onChanges(id, changes) {
        const name = nameOf(id);
        if (name === undefined) return;
        events.emit({ type: 'pins.changed', name, changes: [...changes] });
        const isHeldBack = changes.some(({ change }) => change === 'new' || change === 'changed');
        const pending = pins.pendingOf(id);
        if (isHeldBack && pending > 0 && pins.of(id).isEnforced)
          events.emit({ type: 'approval.requested', name, pending });
      },
      onListed: (id) => {
        doubts.of(id);
      },
      log,
      now,
    }),
  );
  const listings = opened.use(
    await Listings.open(paths.listings, {
      onChanges(id, items) {
        const name = nameOf(id);
        if (name !== undefined) events.emit({ type: 'tool.changed', name, items: [...items] });
      },
      log,
      now,
    }),
  );
  const progress = opened.use(new ProgressEvents(events));
  const traffic = opened.use(new TrafficOfAll({ redaction: audit.redaction, now }));
  const doubts = new PolicyDoubts(
    (id) => pins.offerOf(id),
    (id, doubt) => pins.note(id, { doubt }, 'a policy names items that the server does not offer'),
  );
  const settings = await SettingsFile.open(paths.settings, log);
  const packages = opened.use(
    new PackageInspection({
      records: await PackageRecords.open(paths.packages, log),
      readRoot: options.readTrustedRoot ?? openTrustedRoot({ cacheDir: join(paths.cache, 'sigstore'), log }),
      certificates: installationSettings(settings).trusted,
      env,
    }),
  );
  const registry = opened.use(
    await RegistryStore.open({
      settings,
      cacheDir: registryCache,
      log,
      onChange: () => events.emit({ type: 'registry.changed', name: defaultRegistry }),
    }),
  );
  const secrets = opened.use(
    new Secrets({
      settings,
      path: paths.secrets,
      env,
      version,
      log,
      onChange: (change) => events.emit(secretEvent(change)),
      onValue: (value) => audit.redaction.add(value),
      ...options.secrets,
    }),
  );
  const secretsOf = secretResolver(secrets);
  const accessOf: Core['accessOf'] = (runConfig) =>
    openWorkloadAccess(runConfig, (secret) =>
      readAudited(audit, { workload: runConfig.name, secret }, () => secrets.read(secret)),
    );
  const runtimes = await openRuntimes(options, daemonId, paths);
  const groups = await Groups.open(paths.groups, log, (name, isThere) =>
    events.emit({ type: isThere ? 'group.changed' : 'group.removed', name }),
  );
  const logs = new Logs(paths.logs);
  const mounts = new GrantedMounts({
    directory: paths.mounts,
    ownDirectories: [paths.config, paths.state, paths.data, paths.cache],
    log,
  });
  const ruleWatchers = new RuleWatchers();
  const egressOf: LocalServerOptions['egressOf'] = (stored, note) =>
    new WorkloadEgress(
      stored,
      {
        decisions,
        current: (id) => workloads.byId(id)?.runConfig,
        watch: ruleWatchers.watch,
        onDenial(name, decision) {
          events.emit({ type: 'network.denied', name, host: decision.host });
          recordEgressDenial(audit, name, decision);
        },
      },
      note,
    );
  const serverVersionOf = (id: WorkloadId): string | undefined =>
    workloads.byId(id)?.live.proxy?.serverVersion;
  const hiddenMemory = opened.use(new HiddenMemory({ directory: paths.hidden, log }));
  const mountUse = opened.use(new MountUse({ directory: paths.mountUse, env, log }));
  const statuses = opened.use(new Statuses(paths.statuses, log));
  const signIns = new SignIns(() => secrets.vault);
  const parts: WorkloadPart[] = [
    { title: 'the granted mounts', ids: () => mounts.ids(), forget: (id) => mounts.forget(id) },
    { title: 'the hidden files', ids: () => hiddenMemory.ids(), forget: (id) => hiddenMemory.forget(id) },
    { title: 'the used mounts', ids: () => mountUse.ids(), forget: (id) => mountUse.forget(id) },
    { title: 'the network decisions', ids: () => decisions.ids(), forget: (id) => decisions.forget(id) },
    { title: 'the approved tools', ids: () => pins.ids(), forget: (id) => pins.forget(id) },
    { title: 'the listed tools', ids: () => listings.ids(), forget: (id) => listings.forget(id) },
    { title: 'the calls', ids: () => traffic.ids(), forget: (id) => traffic.forget(id) },
    {
      title: 'the sign-ins',
      // Only a remote workload is a reason to open the secrets, for which a keyring may ask the user.
      async ids() {
        const isOpened = workloads.all().some(({ runConfig }) => isRemote(runConfig));
        return isOpened ? signIns.ids().catch(unlessLocked) : [];
      },
      async forget(id, runConfig) {
        if (runConfig === undefined || isRemote(runConfig)) await signIns.forget(id);
      },
    },
  ];
  const workloads = opened.use(
    new Workloads({
      parts,
      adoption,
      runConfigs: new RunConfigs(paths.runConfigs, log),
      statuses,
      logs,
      mounts,
      hiddenMemory,
      mountUse,
      runtimeFor: (runConfig) => (isLocal(runConfig) ? runtimes.of(runConfig) : undefined),
      openRemote: remoteOpener(secrets, options.openBrowser, {
        lookup,
        clientDocument: options.clientDocument,
        readSecret: (workload, secret) =>
          readAudited(audit, { workload, secret }, () => secrets.resolve({ name: secret, target: '' })),
      }),
      homeLimit: new HomeLimit(options.homeLimit),
      removeHome: (runConfig) => removeHome(runtimes, runConfig, log),
      requireGroup: (group) => {
        groups.require(group);
      },
      accessOf,
      secretsOf: auditedSecrets(secrets, audit),
      auditOf: (runConfig) => auditOf(runConfig, audit),
      egressOf,
      openBuiltIn: (runConfig, note) => openDaemonMetaServer(core, runConfig, note),
      builtInMiddleware: [identifyCallers()],
      observersOf: (id) => ({
        traffic: traffic.of(id),
        listings: listings.sinkFor(id, () => serverVersionOf(id)),
      }),
      watchPolicies: (id, policies) => doubts.watch(id, policies),
      pinsOf: (id, note) => pins.forProxy(id, note),
      installation: {
        ...installationSettings(settings),
        inspect: (...inspected) => packages.inspect(...inspected),
      },
      paths,
      version,
      env,
      log,
      timing: { ...defaultTiming, ...options.timing },
      now,
      onProgress: (name, message) => progress.of(name)(message),
      onChange(supervisor) {
        ruleWatchers.apply(supervisor.id).catch(raiseFault);
        events.emit(workloadEvent(supervisor));
        clients.reconcileSoon();
      },
      onRemoved(name) {
        events.emit({ type: 'workload.removed', name });
        clients.reconcileSoon();
      },
    }),
  );
  const clients = opened.use(
    new Registrations({
      files: new ClientFiles({
        home: homeOf(env),
        platform: process.platform,
        record: paths.clientEntries,
        onProblem: (client) => events.emit({ type: 'client.changed', name: client }),
        log,
      }),
      groups,
      workloads,
      settings,
      note: paths.registrations,
      log,
      onChange: (client) => events.emit({ type: 'client.changed', name: client }),
    }),
  );

  await clients.migrate();
  await clients.resume();
  const own = {
    events,
    audit,
    settings,
    registry,
    secrets,
    secretsOf,
    accessOf,
    groups,
    clients,
    logs,
    mounts,
    mountUse,
    runtimes,
    workloads,
    decisions,
    pins,
    listings,
    traffic,
    progress,
    packages,
    doubts,
    egressOf,
    ruleWatchers,
    lookup,
  };
  const core: Core = {
    version,
    startedAt,
    paths,
    log,
    ...own,
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
  await workloads.restore();
  await finishRemovals(core);
  await ensureMetaServers(core);
  await clients.reconcile();
  const everything = opened.move();
  return core;
}

/**
 * Removes an earlier daemon's leftovers. Sets aside a path that is not a directory, and skips changes that the disk
 * does not allow: the daemon can still serve reads.
 */
async function prepareDirectories(paths: StatePaths, registryCache: string, log: Logger): Promise<void> {
  const { config, state, data, runConfigs, groups, adopted, mounts, hidden, mountUse, statuses, logs, temp } =
    paths;
  const orUndone =
    (path: string) =>
    (error: unknown): void =>
      log.error({ path, why: messageOf(error) }, 'directory could not be prepared');
  for (const path of [
    config,
    state,
    data,
    dirname(adopted),
    runConfigs,
    groups,
    mounts,
    hidden,
    mountUse,
    statuses,
    logs,
    registryCache,
  ]) {
    const found = await stat(path).catch((error: NodeJS.ErrnoException) => error);
    const isUnusable = found instanceof Error ? found.code === 'ELOOP' : !found.isDirectory();
    if (isUnusable) await setAside(path, 'not a directory', log);
    await removeTemporaries(path).catch(orUndone(path));
  }
  const emptied = rm(temp, { recursive: true, force: true }).then(() => mkdir(temp, { mode: 0o700 }));
  await emptied.catch(orUndone(temp));
}

async function openRuntimes(
  { env, log, runtimes: make }: CoreOptions,
  daemonId: string,
  paths: StatePaths,
): Promise<Runtimes> {
  const runtimes = new Runtimes(
    (make ?? machineRuntimes(env, log))(daemonId, paths),
    env['TOOLHIVE_RUNTIME'],
  );
  await runtimes.sweep((runtime, error) =>
    log.warn({ runtime, err: error }, 'leftovers could not be removed'),
  );
  return runtimes;
}

/** Locked secrets are swept by a later start. */
function unlessLocked(error: unknown): WorkloadId[] {
  if (error instanceof ThvError) return [];
  throw error;
}

function secretResolver(secrets: Secrets): Core['secretsOf'] {
  return async (runConfig) => {
    const references = (runConfig.secrets ?? []).map(parseReference);
    const values = await Promise.all(
      references.map((reference, index) => checkField(`/secrets/${index}`, () => secrets.resolve(reference))),
    );
    return Object.fromEntries(references.map(({ target }, index) => [target, values[index] ?? '']));
  };
}

/** Reads a secret for a workload, and records that, but never the value. */
async function readAudited(
  audit: AuditLog,
  { workload, secret }: { workload: string; secret: string },
  read: () => Promise<string>,
): Promise<string> {
  let outcome: 'success' | 'failure' = 'failure';
  try {
    const value = await read();
    outcome = 'success';
    return value;
  } finally {
    recordSecretAccess(audit, workload, secret, outcome);
  }
}

/** Resolves the secrets of a server that starts, and records each of them. */
function auditedSecrets(secrets: Secrets, audit: AuditLog): Core['secretsOf'] {
  return async (runConfig) => {
    const references = (runConfig.secrets ?? []).map(parseReference);
    const workload = runConfig.name;
    const values = await Promise.allSettled(
      references.map((reference) =>
        readAudited(audit, { workload, secret: reference.name }, () => secrets.resolve(reference)),
      ),
    );
    const failed = values.find((value) => value.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return Object.fromEntries(
      references.map(({ target }, index) => {
        const value = values[index];
        return [target, value?.status === 'fulfilled' ? value.value : ''];
      }),
    );
  };
}

function secretEvent(change: SecretsChange): EventToSend {
  if (change.kind === 'provider') return { type: 'secrets.changed' };
  return { type: change.kind === 'set' ? 'secret.changed' : 'secret.removed', name: change.name };
}

function workloadEvent({ runConfig, condition }: Supervisor): EventToSend {
  return {
    type: 'workload.changed',
    name: runConfig.name,
    group: runConfig.group ?? defaultGroup,
    status: condition.status,
    ...(condition.context === undefined ? {} : { status_context: condition.context }),
  };
}

/** A container engine if there is one, else sandboxed processes. */
function machineRuntimes(env: NodeJS.ProcessEnv, log: Logger) {
  return (daemonId: string, paths: StatePaths): Runtime[] => {
    const gateways = new GatewayProcess({ log: (message, fields) => log.warn(fields, message) });
    return [
      openDockerRuntime({
        gateways,
        daemonId,
        tempDir: paths.temp,
        recordsDir: paths.images,
        env,
        log: (message, fields) => log.debug(fields ?? {}, message),
      }),
      openProcessRuntime({
        gateways,
        daemonId,
        cacheDir: `${paths.cache}/packages`,
        tempDir: paths.temp,
        homesDir: paths.homes,
        env,
        log: (message, fields) => log.debug(fields ?? {}, message),
      }),
    ];
  };
}
