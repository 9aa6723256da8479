import type { LaunchNetwork } from '../../runtime.ts';
import type { Engine } from '../engine.ts';
import type { ContainerNetwork } from './container-network.ts';
import { ensureExternalNetwork } from './external.ts';
import type { Networks } from './networks.ts';

/** Opens no network for a container whose settings alone name one, but makes sure that the named one exists. */
export async function openNoNetwork(
  networks: Networks,
  engine: Engine,
  { kind }: LaunchNetwork,
): Promise<ContainerNetwork> {
  if (kind === 'open') {
    const { daemonId } = networks.place;
    networks.external ??= ensureExternalNetwork(engine, daemonId).finally(
      () => (networks.external = undefined),
    );
    await networks.external;
  }
  return { async [Symbol.asyncDispose]() {} };
}
