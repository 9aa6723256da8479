import { clientApplications } from '@toolhive/contract/client-application';
import { ThvError } from '@toolhive/contract/failure';
import type { Advice } from '@toolhive/contract/fix';
import { advice, fixes } from '@toolhive/contract/fixes';
import type { WorkloadStatus } from '@toolhive/contract/workload';
import type { Core } from '../core.ts';
import type { SupplyWing } from '../wings/supply.ts';
import type { WorkloadsWing } from '../wings/workloads.ts';
import type { ClientsWing } from '../wings/clients.ts';
import { failed, ok, warning } from './check.ts';
import type { Check, Found } from './check.ts';

/** The layers of the machine, from the runtimes to the clients. */
export const machineChecks: readonly Check<Core>[] = [
  {
    layer: 'hive',
    look: ({ version, paths, settings: { loss } }) => [
      ok(`${version}, with its state in ${paths.state}`),
      ...(loss === undefined ? [] : [warning(loss, 'restore the file from a backup, or change a setting')]),
    ],
  },
  { layer: 'runtime', look: runtimesOf },
  { layer: 'secrets', look: secretsOf },
  { layer: 'registry', look: registryOf },
  { layer: 'process', look: workloadsOf },
  { layer: 'clients', look: clientsOf },
  { layer: 'sandbox', look: unmanagedOf },
];

/** One runtime is enough. Problems with the others matter only if none works. */
async function runtimesOf({ runtimes }: SupplyWing, signal: AbortSignal): Promise<Found[]> {
  const { chosen, runtimes: all } = await runtimes.check(signal);
  return all.map(({ runtime, available, detail, hint }) => {
    if (available) return ok(`${detail}${runtime === chosen ? ', where new workloads run' : ''}`);
    return chosen === null
      ? failed(detail, hint)
      : { ...ok(`${detail}; ToolHive uses ${chosen}`), state: 'skipped' };
  });
}

/** Many people need none. */
async function secretsOf({ secrets }: SupplyWing): Promise<Found[]> {
  try {
    const { provider_type: type, locked } = await secrets.describe();
    if (!locked) return [ok(`the provider ${type} stores the secrets`)];
    return [
      warning(
        `the provider ${type} is locked`,
        advice('`thv secret setup` takes its password', fixes.unlockSecrets),
      ),
    ];
  } catch (error) {
    if (error instanceof ThvError && error.kind === 'not-found')
      return [
        warning(
          'secrets are not set up',
          advice('run thv secret setup if servers need secrets', fixes.setUpSecrets),
        ),
      ];
    throw error;
  }
}

async function registryOf({ registry }: SupplyWing): Promise<Found[]> {
  const {
    type,
    source,
    server_count: count,
    problem,
    stale,
    skipped_count: lost = 0,
  } = await registry.info();
  const where = type === 'default' ? 'the built-in registry' : source;
  if (problem !== undefined)
    return [
      (stale === true ? warning : failed)(
        `${where}: ${problem}`,
        advice('run thv config get-registry to see the source of the registry', fixes.showRegistry),
      ),
    ];
  if (lost > 0)
    return [
      warning(
        `${where}, with ${count} servers; ${lost} other entries could not be read`,
        advice('see the reasons with GET /registry', fixes.showRegistry),
      ),
    ];
  return [ok(`${where}, with ${count} servers`)];
}

/** The state of a workload as the end of a sentence. */
export function stateOf(status: WorkloadStatus): string {
  return status === 'error' ? 'has failed' : `is ${status}`;
}

const detailsOf = (name: string): Advice =>
  advice(`\`thv doctor ${name}\` shows the details`, fixes.showDetails(name));

function workloadsOf({ workloads }: WorkloadsWing): Found[] {
  const lost = workloads.setAside.map(({ name, why }) =>
    failed(`the run config of ${name} could not be read: ${why}`, detailsOf(name)),
  );
  const all = workloads.all();
  const found = all.map(({ runConfig: { name }, condition: { status, context }, lastFailure }) => {
    const why = context === undefined ? '' : `: ${context}`;
    if (status === 'running') return ok(`${name} runs`);
    if (status === 'stopped') return { ...ok(`${name} was stopped`), state: 'skipped' as const };
    const isBroken = status === 'error' || status === 'unhealthy' || lastFailure !== undefined;
    return (isBroken ? failed : warning)(`${name} ${stateOf(status)}${why}`, detailsOf(name));
  });
  return lost.length + found.length === 0 ? [ok('no workloads')] : [...lost, ...found];
}

/** The files of clients that cannot be read are the concern of the diagnosis of each client. */
async function unmanagedOf({ clients }: ClientsWing): Promise<Found[]> {
  const found = await Promise.all(
    clientApplications.map(async ({ id }) => {
      const entries = await clients.unmanaged(id).catch(unlessUnreadable);
      return entries.length === 0 ? [] : [`${id} (${entries.map(({ name }) => name).join(', ')})`];
    }),
  );
  const all = found.flat();
  if (all.length === 0) return [];
  return [
    warning(
      `clients run servers without isolation: ${all.join(', ')}`,
      advice('`thv adopt` runs them in isolation', fixes.adopt),
    ),
  ];
}

function unlessUnreadable(thrown: unknown): [] {
  if (thrown instanceof ThvError) return [];
  throw thrown;
}

function clientsOf({ clients }: ClientsWing): Found[] {
  const registered = clients.list();
  if (registered.length === 0)
    return [
      warning(
        'no clients are registered',
        advice('run thv client setup to register clients', fixes.connectClients),
      ),
    ];
  return registered.map(({ name, problem }) =>
    problem === undefined
      ? ok(`${name} is configured`)
      : failed(
          `${name}: ${problem}`,
          advice(`\`thv doctor ${name}\` shows the details`, fixes.showClient(name)),
        ),
  );
}
