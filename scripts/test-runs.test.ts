import { expect, test } from 'vitest';
import { merge, tallyOf } from './test-runs.ts';
import type { FileReport, TestReport } from './test-report.ts';

const silence = 'ThvError: cannot reach the package registry: connect ETIMEDOUT 203.0.113.7:443';
const refusal = 'ThvError: the package registry answered 404 for left-pad';

const aTest = (changes: Partial<TestReport> = {}): TestReport => ({
  name: 'servers > runs one',
  title: 'runs one',
  state: 'passed',
  errors: [],
  ...changes,
});
const aFile = (changes: Partial<FileReport> = {}): FileReport => ({
  path: 'e2e/servers.test.ts',
  suite: 'e2e',
  durationMs: 1,
  usesRegistries: true,
  errors: [],
  tests: [aTest()],
  ...changes,
});
const counts = (...files: FileReport[]): number[] => {
  const { passed, failed, skipped, notRun } = tallyOf({ files, strayErrors: [] });
  return [passed, failed, skipped, notRun.length];
};

test('a test that a silent package registry prevented counts as not run, with the reason', () => {
  const prevented = aTest({ state: 'failed', errors: [`${silence}\n    at run (thv.ts:1:1)`] });

  const tally = tallyOf({ files: [aFile({ tests: [prevented] })], strayErrors: [] });

  expect(tally).toEqual({
    passed: 0,
    failed: 0,
    skipped: 0,
    notRun: [`e2e/servers.test.ts > servers > runs one: ${silence}`],
  });
});

test.each([
  ['a package registry that answers with an error', [refusal]],
  ['a time limit of the test', ['Error: Test timed out in 180000ms.']],
  ['another error beside a silent registry', [silence, 'AssertionError: expected 1 to be 2']],
  [
    'a stack that only looks like a silent registry',
    ['AssertionError: 1\n    at npm error (timeout.ts:1:1)'],
  ],
])('%s is a failure', (_, errors) => {
  const failed = aTest({ state: 'failed', errors });

  expect(counts(aFile({ tests: [failed] }))).toEqual([0, 1, 0, 0]);
});

test('a silent registry is a failure in a file that only uses stand-ins', () => {
  const failed = aTest({ state: 'failed', errors: [silence] });

  expect(counts(aFile({ usesRegistries: false, tests: [failed] }))).toEqual([0, 1, 0, 0]);
});

test('a hook that a silent registry prevented counts the tests that did not start as not run', () => {
  const tests = [
    aTest(),
    aTest({ state: 'skipped' }),
    aTest({ state: 'failed', errors: ['AssertionError: expected 1 to be 2'] }),
  ];

  expect(counts(aFile({ errors: [silence], tests }))).toEqual([1, 1, 0, 1]);
});

test('a hook that fails for another reason counts as one failure', () => {
  const file = aFile({ errors: ['Error: no space left on device'], tests: [aTest({ state: 'skipped' })] });

  expect(counts(file)).toEqual([0, 1, 1, 0]);
});

test('an error outside of all tests counts as a failure even if tests failed', () => {
  const files = [aFile({ tests: [aTest({ state: 'failed', errors: ['Error: no'] })] })];

  expect(tallyOf({ files, strayErrors: ['an error in a.test.ts: Error: late'] }).failed).toBe(2);
});

test.each([
  ['passes', aTest(), [2, 0, 0, 0]],
  ['fails', aTest({ state: 'failed', errors: [refusal] }), [1, 1, 0, 0]],
  ['is prevented again', aTest({ state: 'failed', errors: [silence] }), [1, 0, 0, 1]],
] as const)('a prevented test that %s when it is run again has the new result', (_, later, expected) => {
  const prevented = aTest({ state: 'failed', errors: [silence] });
  const other = aTest({ name: 'servers > runs two', title: 'runs two' });
  const first = aFile({ tests: [prevented, other] });
  const second = aFile({ tests: [later, { ...other, state: 'skipped' }] });

  expect(counts(merge(first, second))).toEqual(expected);
});
