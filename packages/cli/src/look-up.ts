import type { Client } from '@toolhive/contract/client';
import { defaultRegistry } from '@toolhive/contract/names';
import { SecretsProviderType } from '@toolhive/contract/secrets';
import type { Completion } from './command.ts';
import type { Candidate } from './complete.ts';
import { findDaemon } from './daemon.ts';

/** All known names of a kind. Asks only a running daemon, because starting one takes too long. Contexts are in files. */
export async function namesOf(what: Completion, signal: AbortSignal): Promise<readonly Candidate[]> {
  if (what === 'kube-context') return (await import('./commands/cluster/contexts.ts')).contexts();
  const daemon = await findDaemon();
  return daemon === undefined ? [] : ((await lists[what]?.(daemon, signal)) ?? []);
}

const params = { name: defaultRegistry };

const lists: Partial<Record<Completion, (daemon: Client, signal: AbortSignal) => Promise<Candidate[]>>> = {
  async workload(daemon, signal) {
    const { workloads } = await daemon.listWorkloads({ query: { all: 'true' } }, { signal });
    return workloads.map(({ name, status }) => ({ word: name, description: status }));
  },
  async group(daemon, signal) {
    const { groups } = await daemon.listGroups({}, { signal });
    return groups.map(({ name }) => ({ word: name }));
  },
  async 'registry-server'(daemon, signal) {
    const { servers, remote_servers: remote } = await daemon.listRegistryServers(
      { params, query: {} },
      { signal },
    );
    return [...servers, ...remote].map(({ name = '', description }) => ({ word: name, description }));
  },
  async 'registry-group'(daemon, signal) {
    const { registry } = await daemon.getRegistry({ params }, { signal });
    return (registry.groups ?? []).map(({ name, description }) => ({ word: name, description }));
  },
  async secret(daemon, signal) {
    const { keys } = await daemon.listSecrets({}, { signal });
    return (keys ?? []).map(({ key, description }) => ({ word: key, description }));
  },
  'secrets-provider': async () => SecretsProviderType.options.map((word) => ({ word })),
  async client(daemon, signal) {
    const { clients } = await daemon.discoverClients({}, { signal });
    return (clients ?? []).map(({ client_type: word, installed, registered }) => ({
      word,
      description: registered ? 'registered' : installed ? 'installed' : undefined,
    }));
  },
};
