/* oxlint-disable vitest/valid-title, vitest/valid-describe-callback, vitest/no-conditional-tests -- passed through */
import { whyNoControlPlane } from '@toolhive/operator/testing/control-plane';
import { describe } from 'vitest';

/**
 * Registers tests that need a real Kubernetes control plane. Where none can be started, registers nothing and says so on
 * standard error.
 */
export function describeCluster(name: string, tests: () => void): void {
  const reason = whyNoControlPlane();
  if (reason === undefined) {
    describe(name, tests);
    return;
  }
  process.stderr.write(`\n!!! SKIPPED: ${name}, because ${reason}\n\n`);
}
