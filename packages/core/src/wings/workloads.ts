import { ThvError } from '@toolhive/contract/failure';
import { raiseFault } from '@toolhive/contract/fault';
import { defaultGroup } from '@toolhive/contract/names';
import type { RunConfig } from '@toolhive/contract/run-config';
import { openWorkloadAccess } from '@toolhive/access/workload-access';
import type { WorkloadAccess } from '@toolhive/access/workload-access';
import { SignIns } from '@toolhive/remote/kept';
import { remoteOpener } from '@toolhive/remote/open';
import { KnownUpdates } from '@toolhive/state/known-updates';
import { SessionSigns } from '@toolhive/state/session-signs';
import { RunConfigs } from '@toolhive/state/run-configs';
import { Statuses } from '@toolhive/state/statuses';
import { parseSource } from '@toolhive/runtime/source';
import { installationSettings } from '@toolhive/state/values';
import type { WorkloadId } from '@toolhive/state/workload-id';
import type { EventToSend } from '../events/events.ts';
import { Groups } from '../groups/groups.ts';
import type { Part, StoredPart } from '../parts/part.ts';
import { GrantedMounts } from '../permissions/granted-mounts.ts';
import { HiddenMemory } from '../permissions/hidden-memory.ts';
import { MountUse } from '../permissions/mount-use.ts';
import type { BuiltInServerOptions } from '../supervision/built-in-server.ts';
import { HomeLimit } from '../supervision/home-limit.ts';
import { accessPart, auditPart, builtInPart, tasksPart, telemetryPart } from '../supervision/proxy-parts.ts';
import { defaultTiming } from '../supervision/supervisor.ts';
import type { Supervisor } from '../supervision/supervisor.ts';
import { isLocal, isRemote } from '../run-config/kinds.ts';
import { removeHome } from '../workloads/homes.ts';
import { Workloads } from '../workloads/workloads.ts';
import type { GovernanceWing } from './governance.ts';
import type { CoreOptions } from './options.ts';
import type { openState } from './state.ts';
import type { SupplyWing } from './supply.ts';
import { auditedSecrets, readAudited, secretResolver } from './workload-secrets.ts';
import type { SecretsOf } from './workload-secrets.ts';

type State = Awaited<ReturnType<typeof openState>>;

/** The workloads, their groups, and their mounts. */
export interface WorkloadsWing {
  groups: Groups;
  workloads: Workloads;
  mounts: GrantedMounts;
  /** What servers in learning mode have used of their mounts. */
  mountUse: MountUse;
  knownUpdates: KnownUpdates;
  /** The access rules of a run config. Throws if a rule cannot be enforced. */
  accessOf: (runConfig: RunConfig) => Promise<WorkloadAccess>;
  /** The secrets that a run config refers to, by the variable that receives each. */
  secretsOf: SecretsOf;
}

/** What happens elsewhere when workloads change. */
interface Outside {
  openBuiltIn: BuiltInServerOptions['openBuiltIn'];
  /** Called when clients have to learn of a change, with the workload unless it was removed. */
  onChange: (supervisor?: Supervisor) => void;
}

export async function openWorkloads(
  options: CoreOptions,
  earlier: State & GovernanceWing & SupplyWing,
  { openBuiltIn, onChange }: Outside,
  opened: AsyncDisposableStack,
): Promise<WorkloadsWing> {
  const { env, version, log, now, paths, settings, logs, events, progress, adoption, directory, database } =
    earlier;
  const { audit, ruleWatchers, egressOf, packages, runtimes, secrets, lookup } = earlier;
  const groups = await Groups.open(paths.groups, log, (name, isThere) =>
    events.emit({ type: isThere ? 'group.changed' : 'group.removed', name }),
  );
  const mounts = new GrantedMounts({
    directory: paths.mounts,
    ownDirectories: [paths.config, paths.state, paths.data, paths.cache],
    log,
  });
  const knownUpdates = new KnownUpdates(database, log);
  const hiddenMemory = opened.use(new HiddenMemory({ directory: paths.hidden, log }));
  const mountUse = opened.use(new MountUse({ directory: paths.mountUse, env, log }));
  const read = (workload: string, secret: string, resolve: () => Promise<string>): Promise<string> =>
    readAudited(audit, { workload, secret }, resolve);
  const accessOf: WorkloadsWing['accessOf'] = (runConfig) =>
    openWorkloadAccess(runConfig, (secret) => read(runConfig.name, secret, () => secrets.read(secret)));
  const signIns = new SignIns(() => secrets.vault);
  const hasRemote = (): boolean => workloads.all().some(({ runConfig }) => isRemote(runConfig));
  const workloads: Workloads = opened.use(
    new Workloads({
      parts: [
        ...partsOf(earlier, {
          stored: [mounts, hiddenMemory, mountUse, knownUpdates, signInsPart(signIns, hasRemote)],
          accessOf,
        }),
        ...(options.moreParts?.(database) ?? []),
      ],
      adoption,
      runConfigs: new RunConfigs(paths.runConfigs, log),
      statuses: opened.use(new Statuses(paths.statuses, log)),
      logs,
      mounts,
      hiddenMemory,
      mountUse,
      runtimeFor: (runConfig) => (isLocal(runConfig) ? runtimes.of(runConfig) : undefined),
      openRemote: remoteOpener(signIns, options.openBrowser, {
        lookup,
        clientDocument: options.clientDocument,
        readSecret: (workload, secret) =>
          read(workload, secret, () => secrets.resolve({ name: secret, target: '' })),
      }),
      openBuiltIn,
      homeLimit: new HomeLimit(options.homeLimit),
      removeHome: (runConfig) => removeHome(runtimes, runConfig, log),
      requireGroup: (group) => {
        groups.require(group);
      },
      secretsOf: auditedSecrets(secrets, audit),
      egressOf,
      publishedAt: (runConfig) => publishedAt(packages, runConfig),
      installation: {
        ...installationSettings(settings),
        inspect: (...inspected) => packages.inspect(...inspected),
      },
      paths,
      version,
      log,
      timing: { ...defaultTiming, ...options.timing },
      now,
      onProgress: (name, message) => progress.of(name)(message),
      onChange(supervisor) {
        ruleWatchers.apply(supervisor.id).catch(raiseFault);
        events.emit(workloadEvent(supervisor));
        onChange(supervisor);
      },
      onRemoved(name) {
        events.emit({ type: 'workload.removed', name });
        onChange();
      },
    }),
  );
  directory.connect((id) => workloads.byId(id));
  return { groups, workloads, mounts, mountUse, knownUpdates, accessOf, secretsOf: secretResolver(secrets) };
}

function publishedAt(packages: SupplyWing['packages'], { image = '' }: RunConfig): string | undefined {
  const source = image === '' ? undefined : parseSource(image);
  return source?.kind === 'package' ? packages.find(source)?.publishedAt : undefined;
}

/** The table of the parts of a workload. Removal and the sweep at startup forget in this order. */
function partsOf(
  {
    env,
    version,
    paths,
    audit,
    doubts,
    decisions,
    pins,
    listings,
    traffic,
    history,
    database,
  }: State & GovernanceWing & SupplyWing,
  { stored, accessOf }: { stored: StoredPart[]; accessOf: WorkloadsWing['accessOf'] },
): Part[] {
  return [
    ...stored,
    decisions,
    pins,
    listings,
    traffic,
    history,
    accessPart(accessOf, doubts),
    new SessionSigns(database),
    builtInPart,
    auditPart(audit),
    telemetryPart({ version, env }),
    tasksPart(paths.taskKey),
  ];
}

/** Only a remote workload is a reason to open the secrets, for which a keyring may ask the user. */
function signInsPart(signIns: SignIns, hasRemote: () => boolean): StoredPart {
  return {
    title: 'the sign-ins',
    ids: async () => (hasRemote() ? signIns.ids().catch(unlessLocked) : []),
    async forget(id, runConfig) {
      if (runConfig === undefined || isRemote(runConfig)) await signIns.forget(id);
    },
  };
}

/** Locked secrets are swept by a later start. */
function unlessLocked(error: unknown): WorkloadId[] {
  if (error instanceof ThvError) return [];
  throw error;
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
