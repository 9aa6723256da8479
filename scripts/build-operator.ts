import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';
import { bundle, root } from './build.ts';

const operator = join(root, 'apps/operator/');

/** The programs of the operator's images, by the names of their files. */
export const operatorPrograms = {
  operator: `${operator}src/operator-main.ts`,
  'source-reader': `${operator}src/source-reader-main.ts`,
  'proxy-runner': `${operator}src/proxy-runner-main.ts`,
  'registry-api': `${operator}src/registry-api-main.ts`,
};

/** How Node.js runs the operator, whose heap would otherwise grow to several times of its content. */
export const operatorFlags = ['--optimize-for-size', '--max-semi-space-size=16'] as const;

/** Bundles the programs of the operator into `apps/operator/dist`, and returns their contents. */
export async function buildOperator(): Promise<Metafile> {
  const outdir = `${operator}dist`;
  // Built beside the old one and put in its place, so that a test that runs meanwhile finds one of both.
  const fresh = `${outdir}-${process.pid}`;
  try {
    const metafile = await bundle(operatorPrograms, fresh, { minifyWhitespace: true });
    await rm(outdir, { recursive: true, force: true });
    await rename(fresh, outdir);
    return metafile;
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

if (import.meta.main) await buildOperator();
