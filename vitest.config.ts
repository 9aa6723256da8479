import { defineConfig } from 'vitest/config';

/** What is waited for comes at once, or late where others use the machine. */
const expect = { poll: { timeout: 30_000 } };

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
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
          testTimeout: 60_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          name: 'docs',
          include: ['apps/docs/test/**/*.test.ts'],
          globalSetup: ['apps/docs/test/setup.ts'],
          expect,
          testTimeout: 60_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
