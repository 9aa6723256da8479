import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const cli = fileURLToPath(new URL('../apps/cli/', import.meta.url));

/** Bundles `thv`: one entry, and a chunk for each part that most commands do not need. */
export async function buildCli(): Promise<void> {
  await rm(`${cli}dist`, { recursive: true, force: true });
  await build({
    entryPoints: { thv: `${cli}src/main.ts` },
    outdir: `${cli}dist`,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    minifySyntax: true,
    sourcemap: 'linked',
    chunkNames: 'chunks/[name]-[hash]',
    // Bundled CommonJS packages ask for Node's own modules by `require`, which an ES module does not have.
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
    logLevel: 'warning',
  });
}

if (import.meta.main) await buildCli();
