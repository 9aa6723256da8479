import type { CommandCall } from '../../command.ts';
import { noteProblems } from './application.ts';

/** Shows for every client whether it is installed and registered. */
export async function run({ out, client, signal }: CommandCall): Promise<void> {
  const daemon = await client();
  const { clients } = await daemon.discoverClients({}, { signal });
  out.result(clients, (page) => {
    const mark = (isSo: boolean): string => (isSo ? page.paint('green', 'yes') : page.paint('dim', 'no'));
    page.table(
      ['CLIENT TYPE', 'INSTALLED', 'REGISTERED', 'PRODUCT'],
      clients.map(({ client_type: type, product, installed, registered }) => [
        type,
        mark(installed),
        mark(registered),
        product,
      ]),
    );
    noteProblems(
      out,
      clients.map(({ client_type: name, problem }) => ({ name, problem })),
    );
  });
}
