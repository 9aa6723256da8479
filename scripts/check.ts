// Everything about the code that a tool can tell: `npm run check`.
import { join } from 'node:path';
import { cacheDirectory } from '@toolhive/runtime/testing/uv';
import { root } from './build.ts';
import { findUnformatted } from './formatting.ts';
import { findLayerBreaches } from './layers.ts';
import { findStale } from './generate.ts';
import { findPromiseGaps } from './promises.ts';
import { findProse } from './prose.ts';
import { run } from './run.ts';
import { findStructureBreaches } from './structure.ts';
import { findBrokenReferences } from './site-files.ts';

interface Check {
  name: string;
  /** Prints findings to standard error. Returns true if there are none. */
  run: () => Promise<boolean>;
}

const program = (name: string, ...args: string[]): Check => ({
  name: [name, ...args].join(' '),
  run: async () => (await run(name, args)) === 0,
});

const finding = (name: string, find: () => Promise<string[]>): Check => ({
  name,
  async run() {
    const found = await find();
    for (const line of found) process.stderr.write(`${line}\n`);
    return found.length === 0;
  },
});

const checks: readonly Check[] = [
  finding('formatting', () => findUnformatted({ root, memory: join(cacheDirectory, 'formatted') })),
  // In one pass, because each compilation of all files takes 20 seconds of a processor.
  program('oxlint', '--type-aware', '--type-check', '--deny-warnings'),
  program('knip'),
  finding('layers', findLayerBreaches),
  finding('structure', findStructureBreaches),
  finding('generated files', findStale),
  finding('references', findBrokenReferences),
  finding('promises', findPromiseGaps),
  finding('prose', findProse),
];

/** Some use one processor only, so two run at a time. Returns how many passed and failed. */
export async function runChecks(): Promise<{ passed: number; failed: number }> {
  const tally = { passed: 0, failed: 0 };
  const waiting = [...checks];
  const runOthers = async (): Promise<void> => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
      const isFine = await check.run();
      process.stdout.write(`${isFine ? 'passed' : 'FAILED'}: ${check.name}\n`);
      tally[isFine ? 'passed' : 'failed'] += 1;
    }
  };
  await Promise.all([runOthers(), runOthers()]);
  return tally;
}

if (import.meta.main) {
  const { failed } = await runChecks();
  if (failed > 0) process.exitCode = 1;
}
