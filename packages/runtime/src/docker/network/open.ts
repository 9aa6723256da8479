import type { Launch } from '../../runtime.ts';
import type { Engine } from '../engine.ts';
import type { ContainerNetwork } from './container-network.ts';
import type { Networks } from './networks.ts';
import { openNoNetwork } from './none.ts';
import { openPublicNetwork } from './public.ts';
import { openRulesNetwork } from './rules.ts';

/** Opens the network that a launch asks for. */
export async function openNetwork(
  networks: Networks,
  engine: Engine,
  { network, transport, published }: Launch,
  signal: AbortSignal,
): Promise<ContainerNetwork> {
  if (network.kind === 'rules')
    return openRulesNetwork(networks, engine, { network, transport, published }, signal);
  const isRestricted = network.kind === 'open' && network.privateAddresses !== 'all';
  const restricted = isRestricted
    ? await openPublicNetwork(networks, engine, { network, transport })
    : undefined;
  return restricted ?? openNoNetwork(networks, engine, network);
}
