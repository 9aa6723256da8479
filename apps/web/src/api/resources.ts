import type { DaemonEvent } from '@toolhive/contract/event';
import type { LogRecord } from '@toolhive/contract/log-record';
import type { ClientName } from '@toolhive/contract/client-application';
import type { Workload } from '@toolhive/contract/workload';
import { client } from './client.ts';
import type { Resource } from './store.ts';

/** Keeps the inferred type of the data. */
const resource = <Data>(declaration: Resource<Data>): Resource<Data> => declaration;

const isAbout = (prefix: string, name?: string) => (event: DaemonEvent) =>
  event.type.startsWith(`${prefix}.`) && (name === undefined || ('name' in event && event.name === name));

/** All workloads, also those that are stopped. */
export const workloads = resource<Workload[]>({
  key: 'workloads',
  load: async (signal) => (await client.listWorkloads({ query: { all: 'true' } }, { signal })).workloads,
  isChangedBy: (event) => isAbout('workload')(event) || isAbout('update')(event),
  apply: (list, event) => {
    if (event.type === 'workload.removed') return list.filter(({ name }) => name !== event.name);
    if (event.type !== 'workload.changed') return list;
    return list.map((workload) =>
      workload.name === event.name
        ? {
            ...withoutContext(workload),
            group: event.group,
            status: event.status,
            ...(event.status_context === undefined ? {} : { status_context: event.status_context }),
          }
        : workload,
    );
  },
});

function withoutContext({ status_context: _context, ...workload }: Workload): Workload {
  return workload;
}

export const workload = (name: string) =>
  resource({
    key: `workload/${name}`,
    load: (signal) => client.getWorkload({ params: { name } }, { signal }),
    isChangedBy: isAbout('workload', name),
  });

export const permissions = (name: string) =>
  resource({
    key: `permissions/${name}`,
    load: (signal) => client.getPermissions({ params: { name } }, { signal }),
    isChangedBy: isAbout('workload', name),
  });

export const networkDecisions = (name: string) =>
  resource({
    key: `network/${name}`,
    load: async (signal) =>
      (await client.listNetworkDecisions({ params: { name }, query: {} }, { signal })).decisions,
    isChangedBy: (event) => event.type === 'network.denied' && event.name === name,
    everyMs: 3_000,
  });

/** The access that was recorded in learning mode. */
export const learning = (name: string) =>
  resource({
    key: `learning/${name}`,
    load: (signal) => client.getLearning({ params: { name } }, { signal }),
    everyMs: 3_000,
  });

/** The latest notes of the proxy, starts among them. */
export const proxyNotes = (name: string) =>
  resource({
    key: `proxy-notes/${name}`,
    load: async (signal) =>
      (await client.getProxyLogs({ params: { name }, query: { format: 'ndjson', limit: 500 } }, { signal }))
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as LogRecord),
    isChangedBy: isAbout('workload', name),
  });

export const toolPins = (name: string) =>
  resource({
    key: `pins/${name}`,
    load: (signal) => client.getToolPins({ params: { name } }, { signal }),
    isChangedBy: (event) => event.type === 'pins.changed' && event.name === name,
  });

export const groups = resource({
  key: 'groups',
  load: async (signal) => (await client.listGroups({}, { signal })).groups,
  isChangedBy: (event) => isAbout('group')(event) || isAbout('client')(event),
});

export const clients = resource({
  key: 'clients',
  load: async (signal) => {
    const [statuses, registered] = await Promise.all([
      client.discoverClients({}, { signal }),
      client.listClients({}, { signal }),
    ]);
    return statuses.clients.map((status) => ({
      ...status,
      groups: registered.find(({ name }) => name === status.client_type)?.groups ?? [],
    }));
  },
  isChangedBy: (event) => isAbout('client')(event) || isAbout('group')(event),
});

/** The servers that clients run themselves. */
export const unmanagedServers = resource({
  key: 'unmanaged-servers',
  load: (signal) => client.listUnmanagedServers({}, { signal }),
  isChangedBy: (event) => isAbout('client')(event) || event.type === 'workload.removed',
});

/** What a takeover of these servers would do. */
export const adoptionPlan = resource({
  key: 'adoption-plan',
  load: (signal) => client.planAdoption({ body: {} }, { signal }),
  isChangedBy: (event) => event.type === 'client.unmanaged',
});

export const adoptions = resource({
  key: 'adoptions',
  load: async (signal) => (await client.listAdoptions({}, { signal })).adoptions,
  isChangedBy: isAbout('client'),
});

export const secrets = resource({
  key: 'secrets',
  load: async (signal) => {
    const provider = await client.getSecretsProvider({}, { signal });
    const isReadable = !provider.locked && provider.capabilities.can_list;
    return { provider, keys: isReadable ? (await client.listSecrets({}, { signal })).keys : [] };
  },
  isChangedBy: (event) => /^secrets?\./.test(event.type),
});

export const registries = resource({
  key: 'registries',
  load: async (signal) => (await client.listRegistries({}, { signal })).registries,
  isChangedBy: isAbout('registry'),
});

export const registryServers = (
  registry: string,
  query: { search?: string; limit?: number; offset?: number },
) =>
  resource({
    key: `registry/${registry}/${JSON.stringify(query)}`,
    load: (signal) => client.listRegistryServers({ params: { name: registry }, query }, { signal }),
    isChangedBy: isAbout('registry'),
  });

export const registryServer = (registry: string, serverName: string) =>
  resource({
    key: `registry-server/${registry}/${serverName}`,
    load: (signal) => client.getRegistryServer({ params: { name: registry, serverName } }, { signal }),
    isChangedBy: isAbout('registry'),
  });

/** The figures of the last hour, a series for each workload with one point for each minute. */
export const lastHour = resource({
  key: 'history/workload',
  load: (signal) => client.getHistory({ query: { by: 'workload' } }, { signal }),
  everyMs: 10_000,
});

/** The connections of the last hour, without their distribution in time. */
export const lastConnections = (by: 'client' | 'host') =>
  resource({
    key: `history/${by}`,
    load: (signal) => client.getHistory({ query: { by, totals: 'true' } }, { signal }),
    everyMs: 10_000,
  });

/** The connections of a server in each minute of the last hour. */
export const hostHistory = (name: string) =>
  resource({
    key: `history/host/${name}`,
    load: (signal) => client.getHistory({ query: { by: 'host', workload: name } }, { signal }),
    everyMs: 10_000,
  });

export const settings = resource({
  key: 'settings',
  load: async (signal) => (await client.listSettings({}, { signal })).settings,
  isChangedBy: isAbout('setting'),
});

export const version = resource({
  key: 'version',
  load: async (signal) => (await client.getVersion({}, { signal })).version,
});

export const runtimes = resource({
  key: 'runtimes',
  load: (signal) => client.getRuntime({}, { signal }),
});

export const machineDiagnosis = resource({
  key: 'diagnosis',
  load: (signal) => client.diagnoseMachine({}, { signal }),
});

export const workloadDiagnosis = (name: string) =>
  resource({
    key: `diagnosis/${name}`,
    load: (signal) => client.diagnoseWorkload({ params: { name } }, { signal }),
    isChangedBy: (event) => event.type === 'workload.changed' && event.name === name,
  });

export const audit = (query: {
  workload?: string;
  search?: string;
  since?: string;
  outcome?: 'success' | 'failure' | 'denied' | 'error';
  limit?: number;
}) =>
  resource({
    key: `audit/${JSON.stringify(query)}`,
    load: async (signal) => (await client.listAudit({ query }, { signal })).records.toReversed(),
    everyMs: 3_000,
  });

export const capabilities = (name: string) =>
  resource({
    key: `capabilities/${name}`,
    load: (signal) => client.getCapabilities({ params: { name }, query: {} }, { signal }),
    isChangedBy: (event) =>
      ['tool.changed', 'pins.changed', 'workload.changed'].includes(event.type) &&
      'name' in event &&
      event.name === name,
  });

export const usage = (name: string) =>
  resource({
    key: `usage/${name}`,
    load: (signal) => client.getUsage({ params: { name } }, { signal }),
    everyMs: 2_000,
  });

export const sessions = (name: string) =>
  resource({
    key: `sessions/${name}`,
    load: async (signal) => (await client.listSessions({ params: { name } }, { signal })).sessions,
    everyMs: 2_000,
  });

export const traffic = (name: string) =>
  resource({
    key: `traffic/${name}`,
    load: (signal) => client.listTraffic({ params: { name }, query: { limit: 1000 } }, { signal }),
  });

export const update = (name: string) =>
  resource({
    key: `update/${name}`,
    load: (signal) => client.getWorkloadUpdate({ params: { name }, query: { changes: 'true' } }, { signal }),
  });

export const daemon = resource({
  key: 'daemon',
  load: (signal) => client.getDaemon({}, { signal }),
});

/** The workloads that use each secret. */
export const secretUses = resource({
  key: 'secret-uses',
  load: async (signal) => {
    const { workloads: list } = await client.listWorkloads({ query: { all: 'true' } }, { signal });
    const uses = new Map<string, string[]>();
    for (const { name, package: source } of list) {
      if (source === '') continue; // its run config cannot be read
      const details = await client.getWorkload({ params: { name } }, { signal });
      for (const secret of details.secrets ?? []) {
        uses.set(secret.name, [...(uses.get(secret.name) ?? []), name]);
      }
    }
    return uses;
  },
  isChangedBy: (event) => event.type === 'workload.changed' || event.type === 'workload.removed',
});

export const clientPreview = (name: ClientName, group: string) =>
  resource({
    key: `client-preview/${name}/${group}`,
    load: (signal) => client.previewClient({ params: { name }, query: { group } }, { signal }),
    isChangedBy: isAbout('workload'),
  });
