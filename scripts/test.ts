// All tests: `npm test`. Names of suites and arguments of Vitest can follow `--`, and then nothing else is run.
import { buildCli, root } from './build.ts';
import { buildOperator } from './build-operator.ts';
import { runChecks } from './check.ts';
import { buildClusterTools } from './cluster-tools.ts';
import { installMissing } from '@toolhive/testing/machine';
import { keepTemporaryFilesInMemory } from './memory-folder.ts';
import { depthVariable, isSuite, suiteNames, suites, suitesWith } from './suites.ts';
import type { SuiteName } from './suites.ts';
import { runTests, runUnansweredAgain, tallyOf } from './test-runs.ts';

const isCi = process.env['CI'] === 'true';
const words = process.argv.slice(2);

if (words.some((word) => word === '--list' || word === '--help')) process.stdout.write(usage());
else await test();

async function test(): Promise<void> {
  const end = words.findIndex((word) => !isSuite(word));
  const named = (end === -1 ? words : words.slice(0, end)).filter(isSuite);
  const forVitest = words.slice(named.length);
  const isEverything = words.length === 0;
  const withFiles = named.length > 0 ? named : suitesWith(forVitest, root);
  const isChosen = (name: SuiteName): boolean =>
    withFiles.length > 0 ? withFiles.includes(name) : isCi || suites[name].isDefault;
  const chosen = suiteNames.filter(isChosen);

  if (isEverything && !isCi) process.env[depthVariable] = 'no';
  installPrograms(chosen);
  keepTemporaryFilesInMemory();
  // Compiling Kubernetes for the first time takes many minutes, in which all other tests can run.
  const cluster: SuiteName[] = chosen.filter((name) => name === 'kubernetes');
  const building = cluster.length > 0 ? buildClusterTools() : undefined;
  const [checks] = await Promise.all([
    isEverything ? runChecks() : { passed: 0, failed: 0 },
    chosen.some((name) => suites[name].needsBuild) ? buildPrograms() : undefined,
  ]);
  const others = chosen.filter((name) => !cluster.includes(name));
  const reports = await Promise.all([
    others.length > 0 ? runTests(argumentsFor(others, forVitest)) : [],
    building?.then(() => runTests([...beside(others, forVitest), ...argumentsFor(cluster, forVitest)])) ?? [],
  ]);

  const tally = tallyOf(
    await runUnansweredAgain({
      files: reports.flat().flatMap(({ files }) => files),
      strayErrors: reports.flat().flatMap(({ strayErrors }) => strayErrors),
    }),
  );
  tally.passed += checks.passed;
  tally.failed += checks.failed;
  // A package registry that does not answer tells nothing about the product, so these tests are named instead of failing.
  for (const line of tally.notRun) process.stdout.write(`not run: ${line}\n`);
  if (tally.notRun.length > 0) process.stdout.write(`${tally.notRun.length} not run\n`);
  // On CI a machine that can have everything must have run everything.
  const mayNotSkip = isCi && process.getuid?.() === 0 && process.platform === 'linux';
  if (mayNotSkip && tally.skipped > 0) {
    process.stdout.write(`${tally.skipped} tests were skipped on a machine that can run them\n`);
    tally.failed += tally.skipped;
    tally.skipped = 0;
  }
  const skipped = tally.skipped > 0 ? `, ${tally.skipped} skipped` : '';
  process.stdout.write(`\n${tally.passed} passed, ${tally.failed} failed${skipped}\n`);
  process.exitCode = tally.failed > 0 ? 1 : 0;
}

function installPrograms(chosen: readonly SuiteName[]): void {
  if (process.platform !== 'linux') return;
  const needed = new Set(chosen.flatMap((name) => suites[name].programs));
  for (const { program, debian } of installMissing([...needed])) {
    process.stderr.write(
      `\n!!! ${program} is not installed (Debian: ${debian}). Every test that needs this program is skipped.\n\n`,
    );
  }
}

async function buildPrograms(): Promise<void> {
  await buildCli();
  await buildOperator();
}

/** The tests of a cluster wait more than they compute. Beside others, one at a time loses nothing. */
function beside(others: readonly SuiteName[], forVitest: readonly string[]): string[] {
  const isChosen = forVitest.some((word) => word.startsWith('--maxWorkers'));
  return others.length > 0 && !isChosen ? ['--maxWorkers=1'] : [];
}

function argumentsFor(chosen: readonly SuiteName[], forVitest: readonly string[]): string[] {
  const all = chosen.length === suiteNames.length;
  return [...(all ? [] : chosen.map((name) => `--project=${name}`)), ...forVitest];
}

function usage(): string {
  const width = Math.max(...suiteNames.map((name) => name.length));
  const lines = suiteNames.map((name) => {
    const { summary, isDefault } = suites[name];
    return `  ${isDefault ? '*' : ' '} ${name.padEnd(width)}  ${summary}`;
  });
  return [
    'npm test                               all checks and the suites with * without long files; everything with CI=true',
    'npm test -- SUITE... [VITEST ARGS]     these suites',
    'npm test -- [VITEST ARGS]              files of all suites',
    '',
    ...lines,
    '',
  ].join('\n');
}
