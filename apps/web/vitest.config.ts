import react from '@vitejs/plugin-react';
import { playwright } from '@vitest/browser-playwright';
import { defineConfig } from 'vitest/config';
import { chromiumOptions } from '@toolhive/testing/machine';

/** Tests of components in a browser. Tests of whole screens with a daemon are in `e2e/ui`. */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  // Found during a test, these would load the page again.
  optimizeDeps: {
    include: [
      'react',
      'react/jsx-dev-runtime',
      'react-dom/client',
      'wouter',
      'wouter/use-browser-location',
      'wouter/memory-location',
      'zod',
      '@cfworker/json-schema',
      'eventsource-parser/stream',
    ],
  },
  server: { host: '127.0.0.1' },
  test: {
    name: 'web',
    include: ['src/**/*.test.tsx'],
    testTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    retry: process.env['CI'] === 'true' ? 1 : 0,
    browser: {
      enabled: true,
      headless: true,
      screenshotFailures: false,
      provider: playwright({ launchOptions: chromiumOptions }),
      instances: [{ browser: 'chromium' }],
    },
  },
});
