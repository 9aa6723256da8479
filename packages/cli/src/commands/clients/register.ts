import type { CommandCall } from '../../command.ts';
import { applicationOf, noteProblems, registrationsOf } from './application.ts';

/** Registers a client. */
export async function run({ arguments: [typed], flags, out, client, signal }: CommandCall): Promise<void> {
  const name = applicationOf(typed);
  const groups = flags.list('group');
  const daemon = await client();
  await daemon.registerClients({ body: { names: [name], groups } }, { signal });
  const registrations = await registrationsOf([name], { daemon, signal });
  out.result(registrations[0], `${name} can use the workloads in ${groups.join(', ')}`);
  noteProblems(out, registrations);
}
