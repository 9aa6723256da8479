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
  const what = groups.length === 0 ? 'workloads' : `the workloads of ${groups.join(', ')}`;
  out.result(now, left === undefined ? `${name} no longer sees ${what}` : () => {});
  if (left === undefined) return noteProblems(out, now === undefined ? [] : [now]);
  throw unavailable(`${name} is not registered any more, but its file still names workloads: ${left}`, {
    hint: 'repair that file, and do this again',
  });
}
