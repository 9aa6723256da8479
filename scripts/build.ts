import { execFile } from 'node:child_process';
import { cp, glob, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Operation } from '@toolhive/contract/operation';
import { operations } from '@toolhive/contract/operations';
import { gatewayFile } from '@toolhive/runtime/gateway-command';
import { build, transform } from 'esbuild';
import type { BuildOptions, Metafile, Plugin } from 'esbuild';
import { parseSync, Visitor } from 'oxc-parser';
import type { Directive, Statement, VariableDeclarator } from 'oxc-parser';
import { entryPart } from '../apps/cli/src/parts.ts';
import { buildUi, uiFolder } from './build-ui.ts';
import { embeddedFiles, embeddedPrograms } from './embedded-programs.ts';

const run = promisify(execFile);

export const root = fileURLToPath(new URL('..', import.meta.url));
const cli = join(root, 'apps/cli/');

/** Bundles `thv`: one entry, and a chunk for each part that most commands do not need. Does nothing when nothing has changed. */
export async function buildCli(): Promise<void> {
  const outdir = `${cli}dist`;
  await buildUi();
  if (await isCurrent(outdir)) return;
  // Made beside the old one and put in its place, so that a command that runs meanwhile finds one of both.
  const fresh = `${outdir}-${process.pid}`;
  try {
    const plugins = bundling.plugins.filter((plugin) => plugin !== builtinsByNeed); // CommonJS takes them by need anyway
    const program = join(root, 'packages/runtime/src/egress/gateway-main.ts');
    const entries = {
      [basename(entryPart, '.js')]: `${cli}src/main.ts`,
      [basename(gatewayFile, '.js')]: program,
    };
    const metafile = await bundle(entries, fresh, { banner: {}, plugins });
    await toCommonJs(fresh, chunksOfOurs(metafile));
    await cacheParts(fresh);
    const loader = await buildLoader(`${cli}src/package-loader.ts`, `${fresh}/thv.js`);
    await cp(uiFolder, `${fresh}/ui`, { recursive: true, filter: (path) => !basename(path).startsWith('.') });
    const inputs = [
      ...filesOf(metafile),
      ...filesOf(loader),
      ...embeddedFiles(),
      `${uiFolder}/.inputs`,
      cacher,
      import.meta.filename,
    ];
    await writeFile(`${fresh}/${inputsFile}`, JSON.stringify(await timesOf(inputs)));
    await writeFile(`${fresh}/licenses.txt`, await licensesOf([...inputs, ...uiLibraries]));
    await rm(outdir, { recursive: true, force: true });
    await rename(fresh, outdir);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

/** The third-party packages in the web UI. */
export const uiLibraries = [
  'react',
  'react-dom',
  'scheduler',
  'wouter',
  'regexparam',
  '@cfworker/json-schema',
].map((name) => `${root}node_modules/${name}/package.json`);

/** The sources of a bundle: each file with the time of its last change. */
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

/** Packages with additional files, a native library and WebAssembly modules, in their own directories. */
export const unbundled = ['@napi-rs/keyring', '@1password/sdk', '@cedar-policy/cedar-wasm'];

/** Bundles programs into a folder, by the names of their files, and returns their sources. */
export async function bundle(
  entryPoints: Record<string, string>,
  outdir: string,
  changes: BuildOptions = {},
): Promise<Metafile> {
  await rm(outdir, { recursive: true, force: true });
  const { metafile } = await build({
    ...bundling,
    entryPoints,
    outdir,
    splitting: true,
    format: 'esm',
    external: unbundled,
    chunkNames: 'chunks/[name]-[hash]',
    // Bundled CommonJS packages ask for Node's own modules by `require`, which an ES module does not have.
    banner: {
      js: "const require = process.getBuiltinModule('node:module').createRequire(import.meta.url);",
    },
    ...changes,
    metafile: true,
  });
  return metafile;
}

const cacher = join(root, 'scripts/cache-parts.ts');

/** Writes the pack of short commands and the code caches of a program in parts. */
export async function cacheParts(folder: string): Promise<void> {
  await run(process.execPath, [cacher, folder]);
}

/** Builds the script that loads the parts of a program. */
export async function buildLoader(source: string, outfile: string): Promise<Metafile> {
  const { metafile } = await build({
    ...bundling,
    plugins: bundling.plugins.filter((plugin) => plugin !== builtinsByNeed),
    entryPoints: [source],
    outfile,
    format: 'cjs',
    minify: true,
    define: { 'import.meta.dirname': '__dirname', 'import.meta.filename': '__filename' },
  });
  return metafile;
}

/** The chunks without third-party code, which only define values when loaded. */
export function chunksOfOurs({ outputs }: Metafile): ReadonlySet<string> {
  const ours = Object.entries(outputs).filter(([, { inputs }]) =>
    Object.keys(inputs).every((input) => !input.includes('node_modules/')),
  );
  return new Set(ours.map(([output]) => basename(output)));
}

/** Node.js finds, reads and links CommonJS files faster than ES modules, and a short command consists of ten of them. */
export async function toCommonJs(folder: string, pure: ReadonlySet<string>): Promise<void> {
  const files = await Array.fromAsync(glob(join(folder, '**/*.js')));
  const convert = async (file: string): Promise<void> => {
    const source = await readFile(file, 'utf8');
    const usesUrl = source.includes('import.meta.url');
    const { code } = await transform(source, {
      format: 'cjs',
      platform: 'node',
      target: bundling.target,
      minifyWhitespace: true, // every process keeps the text of its modules in memory
      supported: { 'dynamic-import': false },
      define: { 'import.meta.url': 'urlOfFile' },
      ...(usesUrl ? { banner: `const urlOfFile = require('node:url').pathToFileURL(__filename).href;` } : {}),
    });
    await writeFile(file, inAscii(loadedByNeed(code, pure)));
  };
  await Promise.all(files.map(convert));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'commonjs' }));
}

/**
 * Returns the same program in ASCII. Otherwise, V8 stores two bytes for each character, and reads all of them again for
 * the code cache. esbuild keeps the characters of regular expressions, where an escape means the same.
 */
function inAscii(program: string): string {
  return program.replaceAll(
    /[^\0-\x7F]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * Loads the dependencies of a CommonJS file at their first use instead of with the file, because most commands and an
 * idle daemon use few of them. Rewrites only esbuild's output for an import, and only if all uses are visible. Texts stay
 * as they are: some are programs with imports of the same names.
 * `pure` names the files that need not be loaded if nothing of them is used.
 */
export function loadedByNeed(code: string, pure: ReadonlySet<string>): string {
  const { program } = parseSync('chunk.js', code, { sourceType: 'script' });
  const imports = new Map(program.body.flatMap(importIn).map((one) => [one.name, one]));
  new Visitor({
    Identifier({ name }) {
      const found = imports.get(name);
      if (found !== undefined) found.mentions += 1;
    },
    MemberExpression({ object }) {
      if (object.type === 'Identifier') imports.get(object.name)?.uses.push(object);
    },
  }).visit(program);

  const getters: string[] = [];
  const edits: { start: number; end: number; text: string }[] = [];
  for (const { name, path, start, end, uses, mentions } of imports.values()) {
    const others = mentions - 1; // without the declaration
    if (others === 0 && pure.has(basename(path))) edits.push({ start, end, text: '' });
    if (others === 0 || others !== uses.length) continue;
    getters.push(`get ${name}(){return ${name}_??=require(${JSON.stringify(path)})}`);
    edits.push({ start, end, text: `var ${name}_;` });
    for (const use of uses) edits.push({ start: use.start, end: use.end, text: `$required.${name}` });
  }
  let rewritten = '';
  let at = 0;
  for (const { start, end, text } of edits.toSorted((one, other) => one.start - other.start)) {
    rewritten += code.slice(at, start) + text;
    at = end;
  }
  rewritten += code.slice(at);
  return getters.length === 0 ? rewritten : `var $required={${getters.join(',')}};${rewritten}`;
}

/** A statement `var import_name=require("path");`. */
interface Import {
  name: string;
  path: string;
  start: number;
  end: number;
  uses: { start: number; end: number }[];
  mentions: number;
}

/** The import in a statement. Only own files and modules of Node.js count. */
function importIn(statement: Statement | Directive): Import[] {
  if (statement.type !== 'VariableDeclaration' || statement.declarations.length !== 1) return [];
  const [{ id, init }] = statement.declarations as [VariableDeclarator];
  if (id.type !== 'Identifier' || !id.name.startsWith('import_') || init?.type !== 'CallExpression')
    return [];
  const { callee, arguments: given } = init;
  const [path] = given;
  if (callee.type !== 'Identifier' || callee.name !== 'require' || path?.type !== 'Literal') return [];
  if (typeof path.value !== 'string' || !/^(?:\.|node:)/.test(path.value)) return [];
  const { start, end } = statement;
  return [{ name: id.name, path: path.value, start, end, uses: [], mentions: 0 }];
}

/** The files that a bundle consists of. */
export function filesOf({ inputs }: Metafile): string[] {
  return Object.keys(inputs)
    .filter((input) => !/^[\w-]+:/.test(input)) // virtual modules of plugins
    .map((input) => join(root, input));
}

/** The licenses of the third-party packages in a bundle. */
export async function licensesOf(files: readonly string[]): Promise<string> {
  const folders = new Set(files.flatMap((file) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? []));
  const texts = await Promise.all([...folders].toSorted().map(licenseOf));
  return `ToolHive contains these packages.\n\n${texts.join('\n')}`;
}

async function licenseOf(folder: string): Promise<string> {
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest;
  const { name, version, license } = manifest; // npm has checked the manifest
  const files = await Array.fromAsync(glob(join(folder, '{LICEN[CS]E,licen[cs]e,NOTICE}*')));
  const texts = await Promise.all(files.toSorted().map((file) => readFile(file, 'utf8')));
  return [`--- ${name} ${version} (${license}) ---`, ...texts.map((text) => text.trim()), ''].join('\n\n');
}

interface Manifest {
  name: string;
  version: string;
  license: string;
}

/**
 * Imports only the used exports of Node.js modules. An ES module that imports one of them evaluates all of its
 * exports, lazy ones too: with `node:http` comes all of fetch, which costs more than a whole `thv list` may.
 */
export const builtinsByNeed: Plugin = {
  name: 'builtins-by-need',
  setup(bundler) {
    bundler.onResolve({ filter: /^node:/ }, ({ path, kind }) =>
      kind === 'require-call' ? undefined : { path, namespace: 'builtin', sideEffects: false },
    );
    bundler.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => {
      const names = Object.keys(process.getBuiltinModule(path) ?? {}).filter((name) => name !== 'default');
      // Marked as pure, so that unused exports are dropped instead of read.
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

/** The files of `undici` that the product uses. */
const undiciFiles = {
  Agent: './lib/dispatcher/agent.js',
  Pool: './lib/dispatcher/pool.js',
  buildConnector: './lib/core/connect.js',
  ProxyAgent: './lib/dispatcher/proxy-agent.js',
  DecoratorHandler: './lib/handler/decorator-handler.js',
};

/**
 * Imports only the used parts of `undici`. Its main file evaluates everything, including a second fetch, web sockets,
 * caches, and mocks, which needs 7 MB of a daemon's memory. The bundler reports an error for every other import.
 */
const undiciByNeed: Plugin = {
  name: 'undici-by-need',
  setup(bundler) {
    bundler.onLoad({ filter: /[/\\]undici[/\\]index\.js$/ }, ({ path }) => ({
      resolveDir: dirname(path),
      contents: [
        // Gives every dispatcher its method `request`, as the main file does.
        `import Dispatcher from './lib/dispatcher/dispatcher.js';`,
        `import methods from './lib/api/index.js';`,
        `Object.assign(Dispatcher.prototype, methods);`,
        ...Object.entries(undiciFiles).map(([name, file]) => `export { default as ${name} } from '${file}';`),
      ].join('\n'),
    }));
  },
};

/**
 * Gives the client only the necessary parts of the operations: their paths and the kinds of their responses. The client
 * validates nothing, and loading every schema would take half the time of a short command.
 */
const clientWithoutSchemas: Plugin = {
  name: 'client-without-schemas',
  setup(bundler) {
    bundler.onResolve({ filter: /\/operations\.ts$/ }, ({ importer }) =>
      importer.endsWith('/contract/src/client.ts') ? { path: 'operations', namespace: 'routes' } : undefined,
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

/** The options for every bundle. */
export const bundling = {
  bundle: true,
  platform: 'node',
  // Some packages have no `exports`, and a main file that no bundler can follow.
  mainFields: ['module', 'main'],
  target: 'node24',
  minifySyntax: true,
  // Native modules that `ws` tries to load, and that are not part of our packages.
  define: { 'process.env.WS_NO_BUFFER_UTIL': '"1"', 'process.env.WS_NO_UTF_8_VALIDATE': '"1"' },
  plugins: [builtinsByNeed, undiciByNeed, clientWithoutSchemas, embeddedPrograms],
  logLevel: 'warning',
  metafile: true,
  absWorkingDir: root,
} satisfies BuildOptions;

if (import.meta.main) {
  await buildCli();
  // Without `await`, because that file imports this one, whose evaluation would then never end.
  void import('./build-operator.ts').then(({ buildOperator }) => buildOperator());
}
