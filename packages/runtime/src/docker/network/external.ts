import { ThvError } from '@toolhive/contract/failure';
import * as z from 'zod';
import { callEngine, isFailure, type Engine } from '../engine.ts';
import { DAEMON_LABEL, ownedBy } from '../ownership.ts';

/**
 * The bridge network for a daemon's servers with unrestricted network access. Each daemon has a separate network,
 * because network names are not unique and an engine starts nothing in an ambiguous network.
 */
export function externalNetwork(daemonId: string): string {
  return `toolhive-external-${daemonId}`;
}

/** Makes sure that the network for servers with an open network exists. Not to be called twice at once. */
export async function ensureExternalNetwork(engine: Engine, daemonId: string): Promise<void> {
  const name = externalNetwork(daemonId);
  try {
    await callEngine(engine, z.unknown(), { method: 'GET', path: `/networks/${name}` });
    return;
  } catch (error) {
    if (!isFailure(error, 'not-found')) throw error;
  }
  const json = {
    Name: name,
    Driver: 'bridge',
    CheckDuplicate: true,
    Labels: { toolhive: 'true', [DAEMON_LABEL]: daemonId },
    // Servers have no business with each other. Podman does not know this option and refuses unknown ones.
    ...(engine.kind === 'docker' && { Options: { 'com.docker.network.bridge.enable_icc': 'false' } }),
  };
  await callEngine(engine, z.unknown(), { method: 'POST', path: '/networks/create', body: { json } });
}

const Networks = z.array(z.object({ Id: z.string() }));

/** Removes this daemon's unused networks. */
export async function sweepNetworks(engine: Engine, daemonId: string): Promise<void> {
  const query = ownedBy(daemonId);
  const networks = await callEngine(engine, Networks, { method: 'GET', path: '/networks', query });
  for (const { Id } of networks) {
    try {
      await callEngine(engine, z.unknown(), { method: 'DELETE', path: `/networks/${Id}` });
    } catch (error) {
      // Refused because another daemon's containers use the network, or because it no longer exists. Both cases are
      // harmless.
      if (!(error instanceof ThvError)) throw error;
    }
  }
}
