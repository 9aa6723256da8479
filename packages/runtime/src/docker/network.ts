import { ThvError } from '@toolhive/contract/failure';
import * as z from 'zod';
import { callEngine, isFailure, type Engine } from './engine.ts';
import { HIVE_LABEL, ownedBy } from './ownership.ts';

/** The bridge network of servers that may reach whatever the machine reaches. */
export const EXTERNAL_NETWORK = 'toolhive-external';

/** Makes sure that the network for servers with an open network exists. */
export async function ensureExternalNetwork(
  engine: Engine,
  hiveId: string,
  signal?: AbortSignal,
): Promise<void> {
  const aborting = signal && { signal };
  try {
    const path = `/networks/${EXTERNAL_NETWORK}`;
    await callEngine(engine, z.unknown(), { method: 'GET', path, ...aborting });
    return;
  } catch (error) {
    if (!isFailure(error, 'not-found')) throw error;
  }
  const json = {
    Name: EXTERNAL_NETWORK,
    Driver: 'bridge',
    CheckDuplicate: true,
    Labels: { toolhive: 'true', [HIVE_LABEL]: hiveId },
    // Servers have no business with each other. Podman does not know this option and refuses unknown ones.
    ...(engine.kind === 'docker' && { Options: { 'com.docker.network.bridge.enable_icc': 'false' } }),
  };
  try {
    await callEngine(engine, z.unknown(), {
      method: 'POST',
      path: '/networks/create',
      body: { json },
      ...aborting,
    });
  } catch (error) {
    // Two servers start at once: the other one made it.
    if (!isFailure(error, 'conflict')) throw error;
  }
}

const Networks = z.array(z.object({ Id: z.string() }));

/** Removes the networks that this hive made and nobody uses. */
export async function sweepNetworks(engine: Engine, hiveId: string): Promise<void> {
  const query = ownedBy(hiveId);
  const networks = await callEngine(engine, Networks, { method: 'GET', path: '/networks', query });
  for (const { Id } of networks) {
    try {
      await callEngine(engine, z.unknown(), { method: 'DELETE', path: `/networks/${Id}` });
    } catch (error) {
      // Refused because another hive's containers use it, or because it is gone already: both are fine.
      if (!(error instanceof ThvError)) throw error;
    }
  }
}
