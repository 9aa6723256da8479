import { whyNoControlPlane } from '@toolhive/operator/testing/control-plane';
import { root } from './build.ts';
import { run } from './run.ts';

/** Behind the tests, which have time limits, but not so far that the cluster suite is alone at the end. */
const priority = '4';
const folder = `${root}packages/operator/control-plane`;

/**
 * Builds the Kubernetes control plane and the chart tools for the tests from Go modules, into a cache outside the
 * repository. The first time, this takes about eight minutes of a processor.
 */
export async function buildClusterTools(): Promise<void> {
  if (whyNoControlPlane() !== undefined) return; // the tests say why
  for (const [program, ...args] of [
    [`${folder}/control-plane.sh`, 'build'],
    [`${folder}/chart-tools/chart-tools.sh`],
  ] as const) {
    const code = await run('nice', ['-n', priority, program, ...args]);
    if (code !== 0)
      process.stderr.write(`\n!!! ${program} ended with ${code}. The tests that need this program fail.\n\n`);
  }
}

if (import.meta.main) await buildClusterTools();
