import { mkdir, readFile, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { run } from './run.ts';
import { reportVariable } from './test-report.ts';
import type { FileReport, Report, TestReport } from './test-report.ts';

const folder = fileURLToPath(new URL('../test-results', import.meta.url));
const reporter = fileURLToPath(new URL('test-report.ts', import.meta.url));

export interface Tally {
  passed: number;
  failed: number;
  skipped: number;
  /** The tests that a silent package registry prevented, with the reason. */
  notRun: string[];
}

let count = 0;

/** Runs Vitest with the terminal of this process. A run that ended without a report is a stray error. */
export async function runTests(args: readonly string[]): Promise<Report> {
  count += 1;
  const path = `${folder}/report${count === 1 ? '' : `-${count}`}.json`;
  await mkdir(folder, { recursive: true });
  await rm(path, { force: true });
  const words = ['run', '--reporter=default', `--reporter=${reporter}`, ...args];
  const code = await run('vitest', words, { ...process.env, [reportVariable]: path });
  const text = await readFile(path, 'utf8').catch(() => undefined); // Vitest did not write a report
  if (text === undefined) return { files: [], strayErrors: [`Vitest ended with ${code} before its report`] };
  const report = JSON.parse(text) as Report; // written by the reporter
  const isExplained = tallyOf(report).failed > 0 || tallyOf(report).notRun.length > 0;
  if (code !== 0 && !isExplained) report.strayErrors.push(`Vitest ended with ${code}`);
  return report;
}

/** Runs the tests of a report again that a silent package registry prevented, and returns a report with their new results. */
export async function runUnansweredAgain({ files, strayErrors }: Report): Promise<Report> {
  const again: Report = { files: [], strayErrors: [...strayErrors] };
  for (const file of files) {
    const args = argumentsForUnanswered(file);
    if (args === undefined) {
      again.files.push(file);
      continue;
    }
    process.stdout.write(`\n!!! a package registry did not answer, trying again: ${file.path}\n`);
    const report = await runTests(args);
    again.strayErrors.push(...report.strayErrors);
    again.files.push(merge(file, report.files.find(({ path }) => path === file.path) ?? file));
  }
  return again;
}

/** What Vitest needs to run the tests of a file again that were prevented, or undefined if there are none. */
function argumentsForUnanswered(file: FileReport): string[] | undefined {
  const words = [`--project=${file.suite}`, file.path];
  if (silenceOf(file) !== undefined) return words;
  const titles = file.tests.filter((test) => silenceOf(file, test) !== undefined);
  if (titles.length === 0) return undefined;
  return [...words, '--testNamePattern', `(${titles.map(({ title }) => RegExp.escape(title)).join('|')})$`];
}

/** The results of a file with the new results of the tests that were run again. */
export function merge(first: FileReport, second: FileReport): FileReport {
  if (silenceOf(first) !== undefined) return second;
  const isAgain = (test: TestReport): boolean => silenceOf(first, test) !== undefined;
  const later = new Map(second.tests.map((test) => [test.name, test]));
  return {
    ...first,
    // A hook that failed only in the second run tells why its tests were not run.
    errors: [...first.errors, ...second.errors],
    tests: first.tests.map((test) => (isAgain(test) ? (later.get(test.name) ?? test) : test)),
  };
}

/** Counts the tests of a report. A failure outside of tests counts as one. */
export function tallyOf({ files, strayErrors }: Report): Tally {
  const tally: Tally = { passed: 0, failed: strayErrors.length, skipped: 0, notRun: [] };
  for (const file of files) {
    const silence = silenceOf(file);
    if (silence === undefined && file.errors.length > 0) tally.failed += 1;
    for (const test of file.tests) {
      const reason = silenceOf(file, test) ?? (hasNotStarted(test) ? silence : undefined);
      if (reason !== undefined) tally.notRun.push(`${file.path} > ${test.name}: ${reason}`);
      else if (test.state === 'passed') tally.passed += 1;
      else if (test.state === 'failed') tally.failed += 1;
      else tally.skipped += 1;
    }
  }
  return tally;
}

const hasNotStarted = ({ state }: TestReport): boolean => state === 'skipped' || state === 'pending';

/** What npm, pip, uv, Go, and ToolHive say about a package registry. */
const registry =
  /package registry|package index|module proxy|npm (?:error|ERR!)|\bpip\b|pypi|\buv\b|registry\.npmjs\.org|proxy\.golang\.org/i;
/** What they say if the registry gave no answer. An error that a registry answers with is a failure. */
const silence =
  /timed out|(?:i\/o|handshake|connect|connection|network|headers|body) timeout|ETIMEDOUT|ECONNRESET|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|socket hang up|temporary failure in name resolution/i;

/** Why a test, or a whole file, could not be run: the line that says that a package registry gave no answer. */
function silenceOf(file: FileReport, test?: TestReport): string | undefined {
  if (!file.usesRegistries) return undefined;
  // Every error has to say so, because one that does not is a failure of the product or of the test.
  const lines = (test === undefined ? file.errors : test.errors).map(silentLineOf);
  return lines.every((line) => line !== undefined) ? lines[0] : undefined;
}

function silentLineOf(error: string): string | undefined {
  const lines = error.split('\n').filter((line) => !/^\s+at /.test(line));
  return lines.some((line) => registry.test(line)) ? lines.find((line) => silence.test(line)) : undefined;
}
