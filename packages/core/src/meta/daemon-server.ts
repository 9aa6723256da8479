import { defaultGroup } from '@toolhive/contract/names';
import type { BuiltInServerName } from '@toolhive/contract/names';
import type { RunConfig } from '@toolhive/contract/run-config';
import { openCombinedServer } from '@toolhive/combined/combined-server';
import type { Core } from '../core.ts';
import type { BuiltInServer } from '../supervision/built-in-server.ts';
import { openDaemonMetaServer } from './daemon-meta-server.ts';
import { membersOf } from './members.ts';

type Open = (core: Core, runConfig: RunConfig, note: (text: string) => void) => Promise<BuiltInServer>;

const servers: Readonly<Record<BuiltInServerName, Open>> = {
  'meta-mcp': openDaemonMetaServer,
  'combined-mcp': openDaemonCombinedServer,
};

/** Opens the built-in server of a run config in the daemon. Throws `invalid` for invalid settings. */
export async function openDaemonServer(
  core: Core,
  runConfig: RunConfig,
  note: (text: string) => void,
): Promise<BuiltInServer> {
  const { built_in: name } = runConfig;
  if (name === undefined) throw new Error(`${runConfig.name} is not a built-in server`);
  return servers[name](core, runConfig, note);
}

/** Opens a server that offers everything of the running workloads of its group. */
async function openDaemonCombinedServer(
  core: Core,
  { name }: RunConfig,
  note: (text: string) => void,
): Promise<BuiltInServer> {
  const group = (): string => core.workloads.find(name)?.runConfig.group ?? defaultGroup;
  return openCombinedServer({
    members: membersOf(core, () => [group()]),
    chosen: () => {
      const found = core.groups.all().find((one) => one.name === group());
      return found === undefined ? new Set() : found.tools && new Set(found.tools);
    },
    version: core.version,
    note,
    onFault: (error) => core.log.error({ workload: name, err: error }, 'fault in the combined server'),
  });
}
