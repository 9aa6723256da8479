import { relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';

/** What is waited for comes at once, or late where others use the machine. */
const expect = { poll: { timeout: 30_000 } };
const limits = { testTimeout: 180_000, hookTimeout: 300_000 };

/** Where nobody watches, one of thousands that the machine held up is tried again, and named at the end. */
const retry = process.env['CI'] === 'true' ? 1 : 0;

/** The files that take longest, longest first: a minute or more each. */
const longest = [
  'packages/runtime/src/docker/docker.test.ts',
  'e2e/ui/guides.test.ts',
  'apps/docs/test/accessible.test.ts',
  'e2e/hidden-files.test.ts',
  'apps/docs/test/search.test.ts',
  'e2e/docs-commands.test.ts',
  'e2e/cluster/guides.test.ts',
  'e2e/real-servers.test.ts',
  'e2e/docker.test.ts',
  'e2e/ui/screens.test.ts',
  'e2e/ui/tester.test.ts',
  'e2e/conformance/conformance.test.ts',
  'e2e/desired-state.test.ts',
  'packages/runtime/src/process/installers/real.test.ts',
  'apps/docs/test/references.test.ts',
  'packages/runtime/src/attacks/images.test.ts',
  'apps/docs/test/frame.test.ts',
  'e2e/attacks.test.ts',
  'apps/docs/test/looks.test.ts',
  'e2e/packages.test.ts',
];

/** Starts the longest files first, so that no worker is left alone with one of them at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = longest.indexOf(relative(import.meta.dirname, moduleId));
      return place === -1 ? longest.length : place;
    };
    // oxlint-disable-next-line unicorn/no-array-sort -- this is a method of Vitest
    const usual = await super.sort(files);
    return usual.toSorted((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    // More than the two processors of the CI machine, because many tests wait for processes.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects: [
      'apps/web/vitest.config.ts',
      {
        test: {
          name: 'product',
          include: [
            'packages/*/src/**/*.test.ts',
            'apps/*/src/**/*.test.ts',
            'e2e/**/*.test.ts',
            'scripts/**/*.test.ts',
          ],
          globalSetup: ['packages/runtime/src/testing/engine-setup.ts'],
          pool: 'forks',
          expect,
          retry,
          ...limits,
        },
      },
      {
        test: {
          name: 'docs',
          include: ['apps/docs/test/**/*.test.ts'],
          globalSetup: ['apps/docs/test/setup.ts'],
          expect,
          retry,
          ...limits,
        },
      },
    ],
  },
});
