import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { unavailable, unsupported } from '@toolhive/contract/failure';
import type { CommandCall } from '../../command.ts';
import { followLog } from '../workloads/log-text.ts';
import { allowOnly } from './cluster.ts';
import { findServer, inCluster } from './connection.ts';

const defaultLines = 100;

/** Prints the log of a server's container, or of its proxy. */
export async function run(call: CommandCall): Promise<void> {
  const { arguments: [name = ''], flags, out, signal } = call; // prettier-ignore
  allowOnly(flags, ['follow', 'proxy', 'tail']);
  const isFollowed = flags.has('follow');
  await inCluster(call, async (client, namespace) => {
    const { kind } = await findServer(client, name, namespace, signal);
    if (!flags.has('proxy') && kind.kind === 'MCPRemoteProxy') {
      throw unsupported(`${name} is a remote server, which has no log here`, { hint: 'use --proxy' });
    }
    const [pod] = flags.has('proxy')
      ? (
          await client.list<KubernetesObject>(types.pod, {
            namespace,
            labelSelector: `app=${kind.app},toolhive-name=${name}`,
            signal,
          })
        ).items.map(({ metadata }) => metadata.name)
      : [`${name}-0`];
    if (pod === undefined) throw unavailable(`the proxy of ${name} has no pod yet`);
    const log = await client.logs(
      { name: pod, namespace },
      {
        container: flags.has('proxy') ? 'toolhive' : 'mcp',
        follow: isFollowed,
        tailLines: flags.number('tail') ?? defaultLines,
        signal,
      },
    );
    try {
      await followLog(out, async (onText) => {
        const decoder = new TextDecoder();
        for await (const bytes of log) onText(decoder.decode(bytes as Buffer, { stream: true }));
      });
    } catch (error) {
      if (!isFollowed || !signal.aborted) throw error; // Ctrl-C is how following ends
    }
  });
}
