import * as z from 'zod';
import { removeContainer } from './container.ts';
import { TEMPORARY } from './downloads.ts';
import { type Engine, callEngine } from './engine.ts';
import { sweepNetworks } from './network/external.ts';
import { NETWORK_LABEL, ownedBy } from './ownership.ts';
import { untagImage } from './packages.ts';
import { withRetries } from './retry.ts';

const Listed = z.array(z.object({ Id: z.string(), Labels: z.record(z.string(), z.string()).nullish() }));

/** Removes everything that an earlier daemon left in an engine. */
export async function sweepEngine(engine: Engine, daemonId: string): Promise<void> {
  await withRetries(changedMeanwhile, () => sweepContainers(engine, daemonId));
  await withRetries(changedMeanwhile, () => sweepNetworks(engine, daemonId));
  await withRetries(changedMeanwhile, () => sweepImages(engine, daemonId));
}

/** Podman fails to list resources that are being removed, and to remove a container that another one has just joined. */
const changedMeanwhile =
  /(?:container|image|layer) not known|network not found|has dependent containers|dependency exists/;

async function sweepContainers(engine: Engine, daemonId: string): Promise<void> {
  const query = { ...ownedBy(daemonId), all: '1' };
  const found = await callEngine(engine, Listed, { method: 'GET', path: '/containers/json', query });
  // Podman removes no container that another one has joined.
  const joined = Map.groupBy(found, ({ Labels }) => Labels?.[NETWORK_LABEL] !== undefined);
  for (const group of [joined.get(false), joined.get(true)]) {
    await Promise.all((group ?? []).map(({ Id }) => removeContainer(engine, Id)));
  }
}

const Images = z.array(z.object({ RepoTags: z.array(z.string()).nullish() }));

/** Removes the names of images whose build was interrupted. */
async function sweepImages(engine: Engine, daemonId: string): Promise<void> {
  const query = { filters: JSON.stringify({ reference: [TEMPORARY] }) };
  const images = await callEngine(engine, Images, { method: 'GET', path: '/images/json', query });
  const own = `${TEMPORARY}:${daemonId}-`.toLowerCase();
  const names = images.flatMap(({ RepoTags }) => RepoTags ?? []).filter((name) => name.includes(own));
  for (const name of names) await untagImage(engine, name);
}
