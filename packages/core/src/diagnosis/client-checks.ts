import { clientApplications } from '@toolhive/contract/client-application';
import type { ClientName } from '@toolhive/contract/client-application';
import { advice, fixes } from '@toolhive/contract/fixes';
import { defaultGroup } from '@toolhive/contract/names';
import type { Core } from '../core.ts';
import { failed, ok, warning } from './check.ts';
import type { Check, Found } from './check.ts';
import { stateOf } from './machine-checks.ts';

interface Subject {
  core: Core;
  name: ClientName;
}

/** The layers of a client, from the client itself to its workloads. */
export const clientChecks: readonly Check<Subject>[] = [
  { layer: 'application', look: applicationOf },
  { layer: 'clients', look: registrationOf },
  { layer: 'file', needs: ['clients'], look: fileOf },
  { layer: 'sandbox', look: unmanagedOf },
  { layer: 'process', needs: ['clients'], look: workloadsOf },
];

async function applicationOf({ core, name }: Subject): Promise<Found[]> {
  const product = clientApplications.find(({ id }) => id === name)?.product ?? name;
  const isInstalled = (await core.clients.discover()).some(
    (one) => one.client_type === name && one.installed,
  );
  return [
    isInstalled
      ? ok(`${product} is installed`)
      : failed(`${product} is not installed for this user`, 'install the client and open it once'),
  ];
}

function registrationOf({ core, name }: Subject): Found[] {
  const registered = core.clients.list().find((client) => client.name === name);
  if (registered === undefined)
    return [
      failed(
        'the client is not registered',
        advice(`\`thv client register ${name}\``, fixes.connectClient(name)),
      ),
    ];
  const { groups } = registered;
  return [
    ok(
      groups.length === 0
        ? 'the client has access to every group'
        : `the client has access to ${groups.join(', ')}`,
    ),
  ];
}

/** Updates the file first, so that the findings describe the current state. */
async function fileOf({ core, name }: Subject): Promise<Found[]> {
  await core.clients.reconcile();
  const problem = core.clients.list().find((client) => client.name === name)?.problem;
  const path = core.clients.pathOf(name);
  if (problem !== undefined) return [failed(problem)];
  return [ok(`${path} is up to date`)];
}

/** Whether or not the client is registered. */
async function unmanagedOf({ core, name }: Subject): Promise<Found[]> {
  const names = (await core.clients.unmanaged(name)).map((entry) => entry.name);
  return names.length === 0
    ? [ok('all servers of the client run isolated')]
    : [
        warning(
          `the client runs servers without isolation: ${names.join(', ')}`,
          advice(`\`thv adopt ${name}\` runs them in isolation`, fixes.adopt),
        ),
      ];
}

function workloadsOf({ core, name }: Subject): Found[] {
  const groups = core.clients.list().find((client) => client.name === name)?.groups ?? [];
  const seen = core.workloads
    .all()
    .filter(({ runConfig }) => groups.length === 0 || groups.includes(runConfig.group ?? defaultGroup));
  if (seen.length === 0)
    return [
      warning('no workload is available to this client', advice('run thv run to start one', fixes.addServer)),
    ];
  return seen.map(({ runConfig, condition }) =>
    condition.status === 'running'
      ? ok(`${runConfig.name} runs`)
      : warning(
          `${runConfig.name} ${stateOf(condition.status)}`,
          advice(`\`thv doctor ${runConfig.name}\` shows the details`, fixes.showDetails(runConfig.name)),
        ),
  );
}
