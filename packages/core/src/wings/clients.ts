import { ClientFiles } from '@toolhive/clients/client-files';
import { ownProgram } from '@toolhive/state/own-program';
import { homeOf } from '@toolhive/state/paths';
import { Registrations } from '../groups/registrations.ts';
import type { openState } from './state.ts';
import type { WorkloadsWing } from './workloads.ts';

/** The MCP clients of this machine. */
export interface ClientsWing {
  clients: Registrations;
}

export async function openClients(
  state: Awaited<ReturnType<typeof openState>>,
  { groups, workloads }: WorkloadsWing,
  opened: AsyncDisposableStack,
): Promise<ClientsWing> {
  const { env, paths, settings, events, log } = state;
  const onChange = (client: string): void => events.emit({ type: 'client.changed', name: client });
  const clients = opened.use(
    new Registrations({
      files: new ClientFiles({
        home: homeOf(env),
        platform: process.platform,
        env,
        program: ownProgram(),
        record: paths.clientEntries,
        onProblem: onChange,
        log,
      }),
      groups,
      workloads,
      settings,
      note: paths.registrations,
      log,
      onChange,
    }),
  );
  await clients.migrate();
  await clients.resume();
  return { clients };
}
