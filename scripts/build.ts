import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Operation } from '@toolhive/contract/operation';
import { operations } from '@toolhive/contract/operations';
import { build } from 'esbuild';
import type { Plugin } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const cli = join(root, 'apps/cli/');

/** Bundles `thv`: one entry, and a chunk for each part that most commands do not need. Does nothing when nothing has changed. */
export async function buildCli(): Promise<void> {
  const outdir = `${cli}dist`;
  if (await isCurrent(outdir)) return;
  // Made beside the old one and put in its place, so that a command that runs meanwhile finds one of both.
  const fresh = `${outdir}-${process.pid}`;
  try {
    const inputs = await bundle({ thv: `${cli}src/main.ts` }, fresh);
    await writeFile(
      `${fresh}/${inputsFile}`,
      JSON.stringify(await timesOf([...inputs, import.meta.filename])),
    );
    await rm(outdir, { recursive: true, force: true });
    await rename(fresh, outdir);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

/** What a bundle was made of: each file with the time of its last change. */
const inputsFile = 'inputs.json';

async function isCurrent(outdir: string): Promise<boolean> {
  const text = await readFile(`${outdir}/${inputsFile}`, 'utf8').catch(() => undefined); // not built yet
  if (text === undefined) return false;
  const built = JSON.parse(text) as Record<string, number>; // written above
  return JSON.stringify(await timesOf(Object.keys(built))) === text;
}

async function timesOf(paths: readonly string[]): Promise<Record<string, number>> {
  const times = await Promise.all(
    paths.map(async (path) => {
      const stats = await stat(path).catch(() => undefined); // a file that is gone has changed
      return [path, stats?.mtimeMs ?? 0] as const;
    }),
  );
  return Object.fromEntries(times);
}

/** Bundles programs into a folder of their own, by the names of their files, and returns the files that they consist of. */
export async function bundle(entryPoints: Record<string, string>, outdir: string): Promise<string[]> {
  await rm(outdir, { recursive: true, force: true });
  const { metafile } = await build({
    entryPoints,
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    // Some packages have no `exports`, and a main file that no bundler can follow.
    mainFields: ['module', 'main'],
    target: 'node24',
    minifySyntax: true,
    // Both come with files of their own, a native library and a WebAssembly module, that they find beside themselves.
    external: ['@napi-rs/keyring', '@1password/sdk'],
    sourcemap: 'linked',
    chunkNames: 'chunks/[name]-[hash]',
    plugins: [builtinsByNeed, clientWithoutSchemas],
    // Bundled CommonJS packages ask for Node's own modules by `require`, which an ES module does not have.
    banner: {
      js: "const require = process.getBuiltinModule('node:module').createRequire(import.meta.url);",
    },
    logLevel: 'warning',
    metafile: true,
    absWorkingDir: root,
  });
  return Object.keys(metafile.inputs)
    .filter((input) => !/^[\w-]+:/.test(input)) // what plugins made up
    .map((input) => join(root, input));
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
            success: { body: shapeOf(success.body) },
          },
        ],
      );
      return { contents: `export const operations = ${JSON.stringify(Object.fromEntries(routes))};` };
    });
  },
};

/** All that the client looks at: whether an answer is text, JSON, events or nothing. */
function shapeOf(body: Operation['success']['body']): unknown {
  if (body === undefined || body === 'text') return body;
  return 'events' in body ? { events: {} } : {};
}

if (import.meta.main) await buildCli();
