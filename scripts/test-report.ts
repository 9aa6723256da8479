// Writes what `npm test` counts, and names the tests and files that a reader of the log would miss.
import { readFile, writeFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, SerializedError, TestCase, TestModule, Vitest } from 'vitest/node';

/** The environment variable with the path of the report. */
export const reportVariable = 'THV_TEST_REPORT';

export interface Report {
  files: FileReport[];
  /** Errors that no test or hook failed with. */
  strayErrors: string[];
}

export interface FileReport {
  /** From the root of the repository. */
  path: string;
  suite: string;
  durationMs: number;
  /** Whether the file uses the public package registries. Other files use stand-ins, whose silence is a failure. */
  usesRegistries: boolean;
  /** Errors of the file, for example of a hook. */
  errors: string[];
  tests: TestReport[];
}

export interface TestReport {
  /** With the titles of the groups around the test. */
  name: string;
  /** Of the test alone. */
  title: string;
  state: 'passed' | 'failed' | 'skipped' | 'pending';
  errors: string[];
}

export default class TestReporter implements Reporter {
  readonly #secondTries: TestCase[] = [];
  #root = '';

  onInit({ config }: Vitest): void {
    this.#root = config.root;
  }

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky === true) this.#secondTries.push(test);
  }

  async onTestRunEnd(
    modules: readonly TestModule[],
    unhandled: readonly SerializedError[],
    reason: string,
  ): Promise<void> {
    for (const test of this.#secondTries) {
      const [error] = test.result().errors ?? [];
      const why = error === undefined ? 'no error was kept' : textOf(error);
      process.stdout.write(
        `\n!!! passed only when tried again: ${test.module.relativeModuleId} > ${test.fullName}\n${why}\n`,
      );
    }
    const unfinished = modules.filter((each) => ['pending', 'queued'].includes(each.state()));
    const strayErrors = [
      ...unhandled.map((error) => `an error in ${this.#placeOf(error)}: ${textOf(error)}`),
      ...unfinished.map((each) => `${each.relativeModuleId} did not end`),
      ...(reason === 'interrupted' ? ['the run was interrupted'] : []),
    ];
    for (const line of strayErrors) process.stdout.write(`\n!!! ${line}\n`);
    const path = process.env[reportVariable];
    if (path === undefined) return;
    const report: Report = { files: await Promise.all(modules.map(reportOf)), strayErrors };
    await writeFile(path, JSON.stringify(report));
  }

  #placeOf(error: SerializedError): string {
    const path: unknown = error['VITEST_TEST_PATH'];
    const test: unknown = error['VITEST_TEST_NAME'];
    if (typeof path !== 'string') return 'an unknown file';
    return `${relative(this.#root, path)}${typeof test === 'string' ? ` > ${test}` : ''}`;
  }
}

async function reportOf(file: TestModule): Promise<FileReport> {
  const content = await readFile(file.moduleId, 'utf8');
  return {
    path: file.relativeModuleId,
    suite: file.project.name,
    durationMs: Math.round(file.diagnostic().duration),
    usesRegistries: usesRegistries(content),
    errors: [file, ...file.children.allSuites()].flatMap((group) => group.errors()).map(textOf),
    tests: [...file.children.allTests()].map((test) => {
      const { state, errors = [] } = test.result();
      return { name: test.fullName, title: test.name, state, errors: errors.map(textOf) };
    }),
  };
}

function textOf({ stack, message, cause }: SerializedError): string {
  const own = stripVTControlCharacters(
    stack?.includes(message) === true ? stack : `${message}\n${stack ?? ''}`,
  );
  return cause === undefined ? own : `${own}\nCaused by: ${textOf(cause)}`;
}

function usesRegistries(content: string): boolean {
  return /publicRegistries\(|cachedPackages\(|\bcacheDirectory\b|startCollector\(|^\/\/ @suite published-servers$/m.test(
    content,
  );
}
