import { notFound } from '@toolhive/contract/failure';
import type { CommandCall } from '../../command.ts';
import { allowOnly } from './cluster.ts';
import { findServer, inCluster } from './connection.ts';

/** Deletes servers in a cluster. The operator and the garbage collector remove their objects. */
export async function run(call: CommandCall): Promise<void> {
  const { arguments: names, flags, out, signal } = call;
  allowOnly(flags, ['yes']);
  if (names.length === 0) throw notFound('no server is specified');
  await inCluster(call, async (client, namespace) => {
    // All names are checked before anything is deleted.
    const found = await Promise.all(names.map((name) => findServer(client, name, namespace, signal)));
    await out.results(
      found.map(async ({ kind, server: { metadata } }) => {
        const { name, uid } = metadata;
        await client.delete(kind, { name, namespace }, { uid, signal });
        return { value: { name, removed: true }, shown: `removed ${name}` };
      }),
    );
  });
}
