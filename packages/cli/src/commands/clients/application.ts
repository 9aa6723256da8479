import type { Client } from '@toolhive/contract/client';
import { ClientName } from '@toolhive/contract/client-application';
import type { RegisteredClient } from '@toolhive/contract/client-application';
import { invalid } from '@toolhive/contract/failure';
import type { CommandCall } from '../../command.ts';
import { nearest } from '@toolhive/contract/nearest';

/** The client that the user typed. Throws `invalid` with the known clients. */
export function applicationOf(typed: string | undefined): ClientName {
  const parsed = ClientName.safeParse(typed);
  if (parsed.success) return parsed.data;
  const family = ClientName.options.filter((name) => name.startsWith(`${typed}-`)); // claude
  const meant = family.length > 0 ? family.join(' or ') : nearest(typed ?? '', ClientName.options);
  throw invalid(`client ${JSON.stringify(typed)} not found`, {
    hint: `${meant === undefined ? '' : `did you mean ${meant}? `}The known clients are ${ClientName.options.join(', ')}`,
  });
}

/** Whether a client is registered, and for which groups. None means all groups. */
interface Registration extends RegisteredClient {
  registered: boolean;
}

/** The current registrations of some clients. */
export async function registrationsOf(
  names: readonly ClientName[],
  { daemon, signal }: Pick<CommandCall, 'signal'> & { daemon: Client },
): Promise<Registration[]> {
  const known = await daemon.listClients({}, { signal });
  const { clients } = await daemon.discoverClients({}, { signal });
  return clients
    .filter(({ client_type: type }) => names.includes(type))
    .map(({ client_type: name, registered, problem }) => {
      const groups = known.find((client) => client.name === name)?.groups ?? [];
      return { name, registered, groups, ...(problem === undefined ? {} : { problem }) };
    });
}

/** Reports clients with outdated files on standard error. */
export function noteProblems(
  out: CommandCall['out'],
  clients: readonly Pick<RegisteredClient, 'name' | 'problem'>[],
): void {
  for (const { name, problem } of clients) {
    if (problem !== undefined) out.note(`${name} is not up to date: ${problem}`);
  }
}
