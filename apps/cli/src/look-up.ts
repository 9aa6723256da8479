import type { Client } from '@toolhive/contract/client';
import { defaultRegistry } from '@toolhive/contract/names';
import { SecretsProviderType } from '@toolhive/contract/secrets';
import type { Completion } from './command.ts';
import type { Candidate } from './complete.ts';
import { findHive } from './hive.ts';

/** The names of all things of a kind that the hive knows. Only a hive that runs is asked: nobody waits for one to start. */
export async function namesOf(what: Completion, signal: AbortSignal): Promise<readonly Candidate[]> {
  const hive = await findHive();
  return hive === undefined ? [] : ((await lists[what]?.(hive, signal)) ?? []);
}

const params = { name: defaultRegistry };

const lists: Partial<Record<Completion, (hive: Client, signal: AbortSignal) => Promise<Candidate[]>>> = {
  async workload(hive, signal) {
    const { workloads } = await hive.listWorkloads({ query: { all: 'true' } }, { signal });
    return workloads.map(({ name, status }) => ({ word: name, description: status }));
  },
  async group(hive, signal) {
    const { groups } = await hive.listGroups({}, { signal });
    return groups.map(({ name }) => ({ word: name }));
  },
  async 'registry-server'(hive, signal) {
    const { servers, remote_servers: remote } = await hive.listRegistryServers({ params }, { signal });
    return [...servers, ...remote].map(({ name = '', description }) => ({ word: name, description }));
  },
  async 'registry-group'(hive, signal) {
    const { registry } = await hive.getRegistry({ params }, { signal });
    return (registry.groups ?? []).map(({ name, description }) => ({ word: name, description }));
  },
  async secret(hive, signal) {
    const { keys } = await hive.listSecrets({}, { signal });
    return (keys ?? []).map(({ key, description }) => ({ word: key, description }));
  },
  'secrets-provider': async () => SecretsProviderType.options.map((word) => ({ word })),
  async client(hive, signal) {
    const { clients } = await hive.discoverClients({}, { signal });
    return (clients ?? []).map(({ client_type: word, installed, registered }) => ({
      word,
      description: registered ? 'registered' : installed ? 'installed' : undefined,
    }));
  },
};
