import type { ProvidedContext } from 'vitest';
import { defineConfig } from 'vitest/config';
import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';
import { depthVariable, suiteNames, testFiles } from './scripts/suites.ts';
import type { SuiteName } from './scripts/suites.ts';

/** What is waited for comes at once, or late where others use the machine. */
const expect = { poll: { timeout: 30_000 } };
/** A failure that does not come back is only known by its message. */
const readable = { truncateThreshold: 2_000 };
const limits = { testTimeout: 180_000, hookTimeout: 300_000 };

/** Where nobody watches, one of thousands that the machine held up is tried again, and named at the end. */
const retry = process.env['CI'] === 'true' ? 1 : 0;

const files = testFiles(import.meta.dirname, { inDepth: process.env[depthVariable] !== 'no' });
const guard = new URL('scripts/unit-guard.ts', import.meta.url).pathname;
const site = new URL('apps/docs/test/setup.ts', import.meta.url).pathname;
const uiBrowser = new URL('e2e/ui/one-browser.ts', import.meta.url).pathname;
/** Each question to a cluster takes a millisecond of a processor, and a start of kubectl takes as long as dozens. */
const polls: Partial<Record<SuiteName, object>> = {
  kubernetes: { poll: { ...expect.poll, interval: 300 } },
};
const parts: Partial<Record<SuiteName, ProvidedContext['part']>> = { unit: 'pure', engines: 'others' };
/** Files that leave no process behind and change nothing global can share processes and loaded modules. */
const shared = { isolate: false };
const setUp: Partial<Record<SuiteName, object>> = {
  unit: { setupFiles: [guard], ...shared },
  e2e: shared,
  ui: { globalSetup: [uiBrowser], ...shared },
  kubernetes: shared,
  docs: { globalSetup: [site], ...shared },
  screenshots: { globalSetup: [site, uiBrowser] },
};

/** Starts the suites in the order of their table, and the files of a suite as usual: the longest or largest first. */
class SuiteBySuite extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ project }: TestSpecification): number => suiteNames.indexOf(project.name as SuiteName);
    // oxlint-disable-next-line unicorn/no-array-sort -- this is a method of Vitest
    const usual = await super.sort(specifications);
    return usual.toSorted((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    // More than the two processors of the CI machine, because many tests wait for processes.
    maxWorkers: 3,
    sequence: { sequencer: SuiteBySuite },
    globalSetup: [
      'packages/runtime/src/testing/engine-setup.ts',
      'e2e/testing/shared-servers.ts',
      'e2e/testing/kept-homes.ts',
    ],
    projects: [
      'apps/web/vitest.config.ts',
      ...suiteNames
        .filter((name) => name !== 'web')
        .map((name) => ({
          test: {
            name,
            include: files.get(name) ?? [],
            provide: { part: parts[name] ?? 'first' },
            pool: 'forks' as const,
            chaiConfig: readable,
            expect: polls[name] ?? expect,
            retry,
            ...limits,
            ...setUp[name],
          },
        })),
    ],
  },
});
