import { defineConfig } from 'vitest/config';

/** What is waited for comes at once, or late where others use the machine. */
const expect = { poll: { timeout: 30_000 } };
const limits = { testTimeout: 180_000, hookTimeout: 300_000 };

/** Where nobody watches, one of thousands that the machine held up is tried again, and named at the end. */
const retry = process.env['CI'] === 'true' ? 1 : 0;

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
