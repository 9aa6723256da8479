import { stat } from 'node:fs/promises';
import { type EgressTools, findEgressTools } from '../../egress/tools.ts';
import { exitOf, spawnSealed } from '../../spawn.ts';
import type { Engine } from '../engine.ts';
import { elsewhere } from './network-container.ts';
import type { Networks } from './networks.ts';

/** How a daemon connects the network of a container: by entering it, or through the engine if only that one can. */
export type Way = 'entering' | 'engine';

/** How the daemon makes networks with a gateway, or why it cannot. */
export async function meansFor(
  { env }: Networks,
  engine: Engine,
): Promise<{ tools: EgressTools; way: Way } | string> {
  if (process.platform !== 'linux') return elsewhere;
  const way = await wayInto(engine);
  if (way === undefined) return 'the container engine belongs to another user, who is not root';
  const tools = await findEgressTools(env);
  if ('problem' in tools) return `${tools.problem}; ${tools.hint}`;
  if (way === 'engine' && !(await canMakeNamespaces(tools)))
    return 'ordinary users may not create network namespaces on this machine';
  return { tools, way };
}

/** Root and the creator of the user namespace of a rootless engine may enter its networks. */
async function wayInto({ socket }: Engine): Promise<Way | undefined> {
  const own = process.getuid?.();
  const { uid: owner } = await stat(socket);
  if (own === 0 || owner === own) return 'entering';
  return owner === 0 ? 'engine' : undefined;
}

async function canMakeNamespaces({ unshare }: EgressTools): Promise<boolean> {
  const { code } = await exitOf(
    spawnSealed(unshare, ['--user', '--map-root-user', '--net', unshare, '--version'], []),
  );
  return code === 0;
}
