// The whole suite: `npm test`. Words after `--` go to Vitest, and then nothing else is run.
import { readFile, rm } from 'node:fs/promises';
import { buildClusterTools } from './cluster-tools.ts';
import { buildCli } from './build.ts';
import { buildOperator } from './build-operator.ts';
import { runChecks } from './check.ts';
import {
  browserPrograms,
  enginePrograms,
  installMissing,
  keyringPrograms,
  sandboxPrograms,
  shellPrograms,
} from '@toolhive/testing/machine';
import { run } from './run.ts';

const report = new URL('../test-results/vitest.json', import.meta.url).pathname;
const onlyVitest = process.argv.slice(2);

const missing =
  process.platform === 'linux'
    ? installMissing([
        ...sandboxPrograms,
        ...enginePrograms,
        ...keyringPrograms,
        ...shellPrograms,
        ...browserPrograms,
      ])
    : [];
for (const { program, debian } of missing) {
  process.stderr.write(
    `\n!!! ${program} is not installed (Debian: ${debian}). Every test that needs this program is skipped.\n\n`,
  );
}
await buildCli();
await buildOperator();

const tally = { passed: 0, failed: 0, skipped: 0 };
if (onlyVitest.length === 0) {
  const { passed, failed } = await runChecks();
  tally.passed += passed;
  tally.failed += failed;
}
if (onlyVitest.length === 0) await buildClusterTools();
await rm(report, { force: true });
const code = await run('vitest', [
  'run',
  '--reporter=default',
  '--reporter=json',
  `--reporter=${new URL('second-tries.ts', import.meta.url).pathname}`,
  `--outputFile.json=${report}`,
  ...onlyVitest,
]);
const results = await readFile(report, 'utf8').then((text) => JSON.parse(text) as VitestReport);
tally.passed += results.numPassedTests;
tally.skipped += results.numPendingTests + results.numTodoTests;
// A package registry that does not answer tells nothing about the product, so these tests are named instead of failing.
const notRun = results.testResults
  .flatMap(({ assertionResults }) => assertionResults)
  .flatMap(({ fullName, meta }) =>
    meta?.notRun === undefined ? [] : [`not run: ${fullName}: ${meta.notRun}`],
  );
for (const line of notRun) process.stdout.write(`${line}\n`);
// A file that could not be loaded has no failed test, and an error between tests has none either.
tally.failed += results.numFailedTests || (code === 0 ? 0 : Math.max(1, results.numFailedTestSuites));

// On CI a machine that can have everything must have run everything.
const mayNotSkip = process.env['CI'] === 'true' && process.getuid?.() === 0 && process.platform === 'linux';
const avoidable = tally.skipped - notRun.length;
if (mayNotSkip && avoidable > 0) {
  process.stdout.write(`${avoidable} tests were skipped on a machine that can run them\n`);
  tally.failed += avoidable;
  tally.skipped -= avoidable;
}
process.stdout.write(
  `\n${tally.passed} passed, ${tally.failed} failed${tally.skipped > 0 ? `, ${tally.skipped} skipped` : ''}\n`,
);
process.exitCode = tally.failed > 0 ? 1 : 0;

interface VitestReport {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  numFailedTestSuites: number;
  testResults: { assertionResults: { fullName: string; meta?: { notRun?: string } }[] }[];
}
