// @suite faults
import { execFileSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { clientApplications } from '@toolhive/contract/client-application';
import { testPort } from '@toolhive/testing/port';
import * as fc from 'fast-check';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { breachesOf, canary } from './testing/answer-rules.ts';
import { enclose } from './testing/enclosure.ts';
import { exchange } from './testing/exchange.ts';
import type { Reply } from './testing/exchange.ts';
import { requestsTo } from './testing/requests.ts';
import type { FuzzRequest } from './testing/requests.ts';
import { aWorkload, openTestApi } from './testing/test-api.ts';
import type { TestApi } from './testing/test-api.ts';

// A long run in search of more: FUZZ_RUNS=5000 FUZZ_SEED=1
const numRuns = Number(process.env['FUZZ_RUNS'] ?? 300);
const seed = Number(process.env['FUZZ_SEED'] ?? 20_250_611);
/** How long one run may take before it counts as hanging. */
const patienceMs = 20_000;

test('every request is answered as the document says, and does no harm', { timeout: 3_600_000 }, async () => {
  await using enclosure = await enclose();
  const faults: string[] = [];
  await using api = await openFuzzedApi(faults);
  const { home } = api;
  const written = [...stateFolders, ...clientFiles].map((path) => join(home, path));
  const before = await enclosure.files(written);
  const freePorts = await Promise.all(Array.from({ length: 4 }, () => testPort()));
  const request = requestsTo({ port: api.port, freePorts, home });

  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 8 }), async (requests) => {
      const wrong: string[] = [];
      await furnish(api);
      for (const one of requests) {
        const breaches = await wrongInAnswerTo(api, one);
        wrong.push(...breaches.map((breach) => `${one.method} ${one.target.slice(0, 100)}: ${breach}`));
      }
      const health = await api.get('/health');

      expect([...wrong, ...faults.splice(0)]).toEqual([]);
      expect(health.status).toBe(204);
      expect(Object.keys(Object.prototype)).toEqual([]);
      // While the daemon still writes files of applications, there are locks beside them.
      await expect.poll(() => enclosure.files(written)).toEqual(before);
    }),
    { numRuns, seed, timeout: patienceMs },
  );
});

const stateFolders = [
  '.config/toolhive',
  '.local/state/toolhive',
  '.local/share/toolhive',
  '.cache/toolhive',
];
const clientFiles = clientApplications.map(({ config }) => config.linux);

async function openFuzzedApi(faults: string[]): Promise<TestApi> {
  const log = pino({ level: 'error' }, { write: (line: string) => void faults.push(line.slice(0, 4000)) });
  return openTestApi(
    { log, timing: { startMs: 200, stopMs: 50, firstBackoffMs: 10, maxBackoffMs: 40, firstAttempts: 2 } },
    {
      env: { TOOLHIVE_SECRET_token: canary },
      async prepareHome(home) {
        await mkdir(join(home, 'folder.json'));
        await symlink('/dev/zero', join(home, 'endless.json'));
        execFileSync('/usr/bin/mkfifo', [join(home, 'pipe.json')]);
        await writeFile(join(home, 'broken.json'), '{"servers":');
        await writeFile(join(home, 'registry.json'), '{"version":"1.0.0","servers":{},"remote_servers":{}}');
        for (const application of clientApplications.slice(0, 4)) {
          await mkdir(join(home, application.config.linux, '..'), { recursive: true });
        }
      },
    },
  );
}

async function wrongInAnswerTo(api: TestApi, request: FuzzRequest): Promise<string[]> {
  const { method, target, bytes, isBroken } = request;
  const goesOn = ({ status, headers: { 'content-type': type } }: Reply): boolean =>
    type === 'text/event-stream' ||
    (type === 'application/x-ndjson' && bytes.length % 4 === 0) ||
    (status === 200 && target.includes('follow='));
  const replies = await exchange(api.port, bytes, { methods: [method], halfClose: isBroken, leaves: goesOn });
  const [reply] = replies;
  if (reply === undefined) return isBroken ? [] : ['there is no answer'];
  return replies.length > 1 && !isBroken ? ['there are two answers'] : breachesOf(request, reply);
}

/** There is always something to be changed, and never so much that everything is slow. */
async function furnish(api: TestApi): Promise<void> {
  const { workloads, groups } = api.core;
  const all = workloads.all();
  if (all.length > 8) {
    await Promise.all(all.map(({ runConfig }) => workloads.remove(runConfig.name).catch(() => {})));
  }
  await groups.create('research').catch(() => {});
  await api.post('/api/v1beta/workloads', aWorkload());
}
