import { defaultGroup } from '@toolhive/contract/names';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { Core } from '../core.ts';
import type { BuiltInServer } from '../supervision/built-in-server.ts';
import { metaSettings } from '@toolhive/tool-search/settings';
import { Installer } from './install.ts';
import { membersOf } from './members.ts';
import { openMetaServer } from './meta-server.ts';
import { RegistrySearch } from './registry-search.ts';

/** Opens a meta server in the daemon for the running workloads of its groups. Throws `invalid` for invalid settings. */
export async function openDaemonMetaServer(
  core: Core,
  runConfig: RunConfig,
  note: (text: string) => void,
): Promise<BuiltInServer> {
  const settings = metaSettings(runConfig.env_vars ?? {}, 'docker');
  const secrets = await core.secretsOf(runConfig);
  const { name } = runConfig;
  const onFault = (error: unknown): void =>
    core.log.error({ workload: name, err: error }, 'fault in the meta server');
  const ownGroup = (): string => core.workloads.find(name)?.runConfig.group ?? defaultGroup;
  const registry = new RegistrySearch(core);
  const installer = new Installer(core, { allowsInstall: settings.allowsInstall, groupOf: ownGroup });
  const server = await openMetaServer({
    settings,
    members: membersOf(core, () => settings.groups ?? [ownGroup()]),
    version: core.version,
    lookup: core.lookup,
    embeddingKey: secrets['EMBEDDING_API_KEY'],
    daemonTools: {
      search_registry: (input) => registry.search(input),
      install_server: (input, call) => installer.install(input, call),
    },
    note,
    onFault,
  });
  const registryPolling = setInterval(() => {
    core.registry.refresh().catch(onFault);
  }, settings.registryPollingMs).unref();
  return {
    stdio: server.stdio,
    async [Symbol.asyncDispose]() {
      clearInterval(registryPolling);
      await server[Symbol.asyncDispose]();
    },
  };
}
