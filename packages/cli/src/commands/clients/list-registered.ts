import type { CommandCall } from '../../command.ts';
import { noteProblems } from './application.ts';

/** Lists the registered clients and their groups. */
export async function run({ out, client, signal }: CommandCall): Promise<void> {
  const daemon = await client();
  const listed = await daemon.listClients({}, { signal });
  const clients = listed.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  out.result(clients, (page) => {
    if (clients.length === 0) {
      return page.line('No clients are registered. `thv client register` and `thv client setup` do that.');
    }
    page.table(
      ['CLIENT TYPE', 'GROUPS'],
      clients.map(({ name, groups }) => [name, groups.length === 0 ? 'all' : groups.join(', ')]),
    );
    noteProblems(out, clients);
  });
}
