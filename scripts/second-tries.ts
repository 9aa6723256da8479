// Names the tests that passed only on the second try, with the first error, so that flaky tests are visible before they
// fail twice.
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, TestCase } from 'vitest/node';

export default class SecondTries implements Reporter {
  readonly #tests: TestCase[] = [];

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky === true) this.#tests.push(test);
  }

  onTestRunEnd(): void {
    for (const test of this.#tests) {
      const [error] = test.result().errors ?? [];
      const why = stripVTControlCharacters(error?.stack ?? error?.message ?? 'no error was kept');
      process.stdout.write(
        `\n!!! passed only when tried again: ${test.module.relativeModuleId} > ${test.fullName}\n${why}\n`,
      );
    }
  }
}
