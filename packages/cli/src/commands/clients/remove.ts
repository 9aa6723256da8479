import { unavailable } from '@toolhive/contract/failure';
import type { CommandCall } from '../../command.ts';
import { applicationOf, noteProblems, registrationsOf } from './application.ts';

/** Removes a client. */
export async function run({ arguments: [typed], flags, out, client, signal }: CommandCall): Promise<void> {
  const name = applicationOf(typed);
  const groups = flags.list('group');
  const daemon = await client();
  await daemon.unregisterClients({ body: { names: [name], groups } }, { signal });
  const [now] = await registrationsOf([name], { daemon, signal });
  const left = now?.registered === false ? now.problem : undefined;
  const what = groups.length === 0 ? 'any workloads' : `the workloads in ${groups.join(', ')}`;
  out.result(now, left === undefined ? `${name} can no longer use ${what}` : () => {});
  if (left === undefined) return noteProblems(out, now === undefined ? [] : [now]);
  throw unavailable(
    `${name} is no longer registered, but its configuration file still contains workloads: ${left}`,
    {
      hint: 'fix the file, and run the command again',
    },
  );
}
