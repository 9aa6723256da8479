// The single executable, for people without Node.js: `npm run build:binary`.
import { execFile } from 'node:child_process';
import {
  chmod,
  copyFile,
  glob,
  mkdir,
  mkdtempDisposable,
  readFile,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { createRequire, isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { keyringAsset } from '@toolhive/secrets/keyring-helper';
import type { Plugin } from 'esbuild';
import { assetOf, cacheAsset, cacheFolder, compiledFiles, entryPart } from '../apps/cli/src/parts.ts';
import {
  buildLoader,
  builtinsByNeed,
  bundle,
  bundling,
  cacheParts,
  chunksOfOurs,
  filesOf,
  licensesOf,
  root,
  toCommonJs,
  uiLibraries,
  unbundled,
} from './build.ts';
import { buildUi, uiFolder } from './build-ui.ts';

const run = promisify(execFile);
const isMac = process.platform === 'darwin';

const require = createRequire(import.meta.url);
const postject = require.resolve('postject/dist/cli.js');
// The marker at which Node.js finds the embedded program (Node.js documentation, Single executable applications).
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
const injection = ['--sentinel-fuse', fuse, ...(isMac ? ['--macho-segment-name', 'NODE_SEA'] : [])];

/** Builds `thv` as a single executable: the Node.js that runs this script, with the program inside. */
export async function buildBinary(target: string): Promise<void> {
  await using work = await mkdtempDisposable(join(tmpdir(), 'thv-binary-'));
  const parts = await bundleInParts(work.path);
  const keyring = findKeyringLibrary();
  await buildUi();
  const uiFiles = await Array.fromAsync(glob(['*.*', 'assets/*.*'], { cwd: uiFolder }));
  const blob = await prepareBlob(work.path, {
    main: parts.loader,
    assets: {
      ...parts.assets,
      ...Object.fromEntries(wasmPackages.map(({ asset, wasm }) => [asset, wasm])),
      ...(keyring === undefined ? {} : { [keyringAsset]: keyring }),
      ...Object.fromEntries(uiFiles.map((name) => [`ui/${name}`, join(uiFolder, name)])),
    },
  });

  await mkdir(dirname(target), { recursive: true });
  const fresh = `${target}-${process.pid}`;
  try {
    await copyFile(process.execPath, fresh);
    await chmod(fresh, 0o755);
    // A signature is over the whole file, and macOS runs nothing that has none.
    if (isMac) await run('codesign', ['--remove-signature', fresh]);
    await run(process.execPath, [postject, fresh, 'NODE_SEA_BLOB', blob, ...injection]);
    if (isMac) await run('codesign', ['--sign', '-', fresh]);
    await rename(fresh, target);
  } finally {
    await rm(fresh, { force: true });
  }
  const licenses = await licensesOf([
    ...parts.inputs,
    ...uiLibraries,
    ...wasmPackages.map(({ wasm }) => wasm),
    ...(keyring === undefined ? [] : [keyring]),
  ]);
  await writeFile(`${target}-licenses.txt`, `${nodeLicense}\n${licenses}`);
}

const nodeLicense = `This program contains Node.js ${process.version}; its license is at
https://github.com/nodejs/node/blob/${process.version}/LICENSE
`;

/** The program in parts, each with V8's cache of its code, by the names of their assets. */
interface Parts {
  /** The script that loads them. */
  loader: string;
  assets: Record<string, string>;
  /** The files that the program consists of. */
  inputs: string[];
}

async function bundleInParts(work: string): Promise<Parts> {
  const folder = join(work, 'program');
  const metafile = await bundle(
    { [basename(entryPart, '.js')]: join(root, 'apps/cli/src/executable.ts') },
    folder,
    {
      banner: {}, // CommonJS has its own `require`
      external: [], // nothing is installed beside the executable
      minify: true,
      plugins: [
        ...bundling.plugins.filter((plugin) => plugin !== builtinsByNeed),
        wasmFromAssets,
        namesOfCommonJs,
      ],
    },
  );
  const outside = Object.values(metafile.outputs)
    .flatMap(({ imports }) => imports)
    .filter(({ path, external }) => external === true && !isBuiltin(path));
  if (outside.length > 0) throw new Error(`not in the bundle: ${outside.map(({ path }) => path).join(', ')}`);
  await toCommonJs(folder, chunksOfOurs(metafile));
  await cacheParts(folder);
  const names = await Array.fromAsync(glob(compiledFiles, { cwd: folder }));
  const loader = join(work, 'loader.cjs');
  const built = await buildLoader(join(root, 'apps/cli/src/executable-loader.ts'), loader);
  const assets = names.flatMap((name) => [
    [assetOf(name), join(folder, name)],
    [cacheAsset(name), join(folder, cacheFolder, name)],
  ]);
  return {
    loader,
    assets: Object.fromEntries(assets) as Record<string, string>,
    inputs: [...filesOf(metafile), ...filesOf(built)],
  };
}

async function prepareBlob(
  folder: string,
  contents: { main: string; assets: Record<string, string> },
): Promise<string> {
  const [config, output] = [join(folder, 'sea.json'), join(folder, 'sea.blob')];
  // After the dashes, Node.js ignores words that look like its own flags, such as `--env-file`.
  const options = { output, useCodeCache: true, disableExperimentalSEAWarning: true, execArgv: ['--'] };
  await writeFile(config, JSON.stringify({ ...contents, ...options }));
  await run(process.execPath, ['--experimental-sea-config', config]);
  return output;
}

const secretsRequire = createRequire(join(root, 'packages/secrets/package.json'));

/** The native library for this system. Undefined if the package has none. */
function findKeyringLibrary(): string | undefined {
  const loader = secretsRequire.resolve('@napi-rs/keyring');
  secretsRequire(loader);
  // The cache has the native libraries of the whole process, so only what this package loaded counts.
  return secretsRequire.cache[loader]?.children.find(({ filename }) => filename.endsWith('.node'))?.filename;
}

/** A package that reads a WebAssembly module from its own directory. */
interface WasmPackage {
  asset: string;
  wasm: string;
  /** The file that reads the module, and how. */
  reader: RegExp;
  reading: RegExp;
  /** The replacement for the code that reads the module. */
  replacement: string;
}

const wasmPackages: readonly WasmPackage[] = [
  {
    asset: '1password.wasm',
    wasm: createRequire(secretsRequire.resolve('@1password/sdk')).resolve(
      '@1password/sdk-core/nodejs/core_bg.wasm',
    ),
    reader: /sdk-core[/\\]nodejs[/\\]core\.js$/,
    reading: /const path = require\('path'\).*\nconst bytes = .*;/,
    replacement: 'const bytes =',
  },
  {
    asset: 'cedar.wasm',
    wasm: join(dirname(secretsRequire.resolve('@cedar-policy/cedar-wasm/nodejs')), 'cedar_wasm_bg.wasm'),
    reader: /cedar-wasm[/\\]nodejs[/\\]cedar_wasm\.js$/,
    reading: /const wasmPath = .*\nconst wasmBytes = .*;/,
    replacement: 'const wasmBytes =',
  },
];

/** Gives these packages their modules from the executable instead. */
const wasmFromAssets: Plugin = {
  name: 'wasm-from-assets',
  setup(bundler) {
    for (const { asset, reader, reading, replacement } of wasmPackages) {
      bundler.onLoad({ filter: reader, namespace: 'file' }, async ({ path }) => {
        const source = await readFile(path, 'utf8');
        if (!reading.test(source)) throw new Error(`${path} reads its module in a different way now`);
        return {
          contents: source.replace(reading, `${replacement} require('node:sea').getRawAsset('${asset}');`),
        };
      });
    }
  },
};

/**
 * Gives CommonJS packages the exports that Node.js finds in them. When esbuild makes a part of such a package, `import()`
 * returns only its default export.
 */
const namesOfCommonJs: Plugin = {
  name: 'names-of-common-js',
  setup(bundler) {
    bundler.onResolve({ filter: /^@/ }, async ({ path, kind, resolveDir, importer }) => {
      if (kind !== 'dynamic-import' || !unbundled.some((name) => path.startsWith(name))) return undefined;
      const { path: file } = await bundler.resolve(path, { kind: 'require-call', resolveDir, importer });
      return { path: file, namespace: 'named' };
    });
    bundler.onLoad({ filter: /.*/, namespace: 'named' }, ({ path }) => {
      const names = Object.keys(require(path) as object).filter((name) => name !== 'default');
      const lines = [
        `import * as all from ${JSON.stringify(path)};`,
        `export const { ${names.join(', ')} } = all;`,
      ];
      return { contents: lines.join('\n'), resolveDir: dirname(path) };
    });
  },
};

if (import.meta.main) await buildBinary(join(root, 'dist', process.platform === 'win32' ? 'thv.exe' : 'thv'));
