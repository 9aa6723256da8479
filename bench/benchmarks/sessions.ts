import { startChild } from '../child.ts';
import { Load } from '../load.ts';
import type { PortChild } from '../contest.ts';
import type { Figure } from '../measurement.ts';
import type { BenchmarkContext } from './benchmarks.ts';

const sessions = 1_000;
/** How many are begun at once: fewer than a listener lets wait. */
const atOnce = 50;
const megabyte = 1_000_000;

/** The memory of idle sessions in the bridge, compared with the official SDK's transports. */
export async function idleSessions({ signal }: BenchmarkContext): Promise<Figure[]> {
  const ours = await growthOf(new URL('../servers/bridge.ts', import.meta.url), signal);
  const sdk = await growthOf(new URL('../servers/sdk.ts', import.meta.url), signal);
  const common = { unit: 'MB', comparison: 'times' } as const;
  return [
    { what: `${sessions} idle sessions, SDK`, ours: ours.idle, reference: sdk.idle, ...common },
    {
      what: `${sessions} idle sessions that listen, SDK`,
      ours: ours.listening,
      reference: sdk.listening,
      ...common,
    },
  ];
}

interface Growth {
  idle: number;
  listening: number;
}

async function growthOf(script: URL, signal: AbortSignal): Promise<Growth> {
  using opened = new DisposableStack();
  await using server: PortChild = await startChild(script, [], ['--expose-gc']);
  // The first ones bring the code along that all of them share.
  const first = opened.use(await Load.open(server.ready.port, atOnce));
  await first.run(200);
  const before = await residentMegabytes(server);
  const loads: Load[] = [];
  while (loads.length * atOnce < sessions - atOnce) {
    signal.throwIfAborted();
    loads.push(opened.use(await Load.open(server.ready.port, atOnce)));
  }
  const idle = (await residentMegabytes(server)) - before;
  for (const load of [first, ...loads]) await load.listen();
  const listening = (await residentMegabytes(server)) - before;
  return { idle, listening };
}

/** After several collections, because the system gets memory back only in the collection after the one that frees it. */
async function residentMegabytes(server: PortChild): Promise<number> {
  for (let collection = 0; collection < 4; collection++) await server.usage();
  const { residentBytes } = await server.usage();
  return residentBytes / megabyte;
}
