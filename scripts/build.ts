import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Operation } from '@toolhive/contract/operation';
import { operations } from '@toolhive/contract/operations';
import { build } from 'esbuild';
import type { Plugin } from 'esbuild';

const cli = fileURLToPath(new URL('../apps/cli/', import.meta.url));

/** Bundles `thv`: one entry, and a chunk for each part that most commands do not need. */
export async function buildCli(): Promise<void> {
  await bundle({ thv: `${cli}src/main.ts` }, `${cli}dist`);
}

/** Bundles programs into a folder of their own, by the names of their files. */
export async function bundle(entryPoints: Record<string, string>, outdir: string): Promise<void> {
  await rm(outdir, { recursive: true, force: true });
  await build({
    entryPoints,
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    minifySyntax: true,
    sourcemap: 'linked',
    chunkNames: 'chunks/[name]-[hash]',
    plugins: [builtinsByNeed, clientWithoutSchemas],
    // Bundled CommonJS packages ask for Node's own modules by `require`, which an ES module does not have.
    banner: {
      js: "const require = process.getBuiltinModule('node:module').createRequire(import.meta.url);",
    },
    logLevel: 'warning',
  });
}

/**
 * Takes from Node's own modules only what is used. An ES module that imports one of them evaluates all of its
 * exports, lazy ones too: with `node:http` comes all of fetch, which costs more than a whole `thv list` may.
 */
const builtinsByNeed: Plugin = {
  name: 'builtins-by-need',
  setup(bundler) {
    bundler.onResolve({ filter: /^node:/ }, ({ path, kind }) =>
      kind === 'require-call' ? undefined : { path, namespace: 'builtin', sideEffects: false },
    );
    bundler.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => {
      const names = Object.keys(process.getBuiltinModule(path) ?? {}).filter((name) => name !== 'default');
      // Marked as pure, so that what nobody imports is dropped instead of read.
      const contents = [
        `const all = /* @__PURE__ */ process.getBuiltinModule('${path}');`,
        'export default all;',
        ...names.map((name, index) => `const v${index} = /* @__PURE__ */ (() => all.${name})();`),
        `export { ${names.map((name, index) => `v${index} as ${name}`).join(', ')} };`,
      ];
      return { contents: contents.join('\n') };
    });
  },
};

/**
 * Gives the client what it needs of the operations and no more: where they are and what they answer with. It
 * validates nothing, and loading every schema would take half the time of a short command.
 */
const clientWithoutSchemas: Plugin = {
  name: 'client-without-schemas',
  setup(bundler) {
    bundler.onResolve({ filter: /\/operations\.ts$/ }, ({ importer }) =>
      importer.endsWith('/contract/src/client.ts') ? { path: importer, namespace: 'routes' } : undefined,
    );
    bundler.onLoad({ filter: /.*/, namespace: 'routes' }, () => {
      const routes = Object.entries<Operation>(operations).map(
        ([id, { method, path, progress, success }]) => [
          id,
          {
            method,
            path,
            progress,
            success: { body: success.body === 'text' ? 'text' : success.body && {} },
          },
        ],
      );
      return { contents: `export const operations = ${JSON.stringify(Object.fromEntries(routes))};` };
    });
  },
};

if (import.meta.main) await buildCli();
