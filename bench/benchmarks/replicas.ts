import { setTimeout as delay } from 'node:timers/promises';
import { RawClient, startInstallation } from '../../e2e/testing/replicas.ts';
import type { Installation } from '../../e2e/testing/replicas.ts';
import type { Figure } from '../measurement.ts';
import type { BenchmarkContext } from './benchmarks.ts';

const calls = 10_000;
const clientCount = 32;
const killEachMs = 2_000;
const versions = ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'];

/**
 * Several proxies before three servers, behind a balancer without affinity: the rate of calls with 1, 2, and 4 proxies, and
 * 10,000 calls while a proxy is killed every two seconds. Each call takes a new connection.
 */
export async function replicas({ note, signal }: BenchmarkContext): Promise<Figure[]> {
  const figures: Figure[] = [];
  let alone = 0;
  for (const proxies of [1, 2, 4]) {
    await using installation = await startInstallation({ proxies });
    const { perSecond } = await measure(installation, calls / 5, signal);
    if (proxies === 1) alone = perSecond;
    note(`${proxies} proxies: ${Math.round(perSecond)} calls/s`);
    const comparison = 'times the rate';
    figures.push({
      what: `calls through ${proxies} proxies`,
      unit: 'calls/s',
      ours: perSecond,
      reference: alone,
      comparison,
    });
  }
  await using installation = await startInstallation({ proxies: 3 });
  const over = new AbortController();
  const killing = killInTurn(installation, AbortSignal.any([over.signal, signal]));
  const { wrong, lost } = await measure(installation, calls, signal);
  over.abort();
  const kills = await killing;
  note(`${kills} proxies were killed during ${calls} calls, ${lost} of which were lost`);
  return [
    ...figures,
    { what: 'answers of another session', unit: '', ours: wrong, comparison: 'itself', budget: 0 },
    {
      what: 'lost calls for each killed proxy',
      unit: '',
      ours: lost / Math.max(kills, 1),
      comparison: 'itself',
      budget: 2 * clientCount,
    },
  ];
}

async function measure({ url }: Installation, count: number, signal: AbortSignal) {
  const clients = await Promise.all(
    Array.from({ length: clientCount }, (_, at) =>
      new RawClient(url, versions[at % versions.length] ?? '', `client ${at}`).open(),
    ),
  );
  let [left, wrong, lost] = [count, 0, 0];
  const beganMs = performance.now();
  await Promise.all(
    clients.map(async (client) => {
      while (left > 0 && !signal.aborted) {
        left -= 1;
        try {
          const { client: name } = await client.told('whoami');
          if (name !== client.name) wrong += 1;
        } catch {
          lost += 1; // its proxy was killed
        }
      }
    }),
  );
  return { perSecond: (count / (performance.now() - beganMs)) * 1000, wrong, lost };
}

async function killInTurn({ proxies, replace }: Installation, signal: AbortSignal): Promise<number> {
  for (let kills = 0; ; kills += 1) {
    await delay(killEachMs, undefined, { signal }).catch(() => {}); // aborted, which the loop looks at
    if (signal.aborted) return kills;
    const at = kills % proxies.length;
    proxies[at]?.child.kill('SIGKILL');
    await replace(at);
  }
}
