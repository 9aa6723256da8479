// Builds the web UI into `apps/web/dist`: `npm run ui:build`.
import { createHash } from 'node:crypto';
import { glob, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Where the built web UI is. */
export const uiFolder = join(root, 'apps/web/dist');

/** Everything that the web UI is made of. */
const inputs = [
  'apps/web/{index.html,package.json,vite.config.ts}',
  'apps/web/{src,public}/**/*',
  'apps/docs/src/css/site.css',
  'packages/contract/src/**/*.ts',
  'package-lock.json',
];
/** The file in the built folder with the hash of its sources. */
const markFile = '.inputs';

/** Builds and compresses the web UI, unless nothing has changed. */
export async function buildUi(): Promise<void> {
  const fingerprint = await fingerprintOfInputs();
  const built = await readFile(join(uiFolder, markFile), 'utf8').catch(() => undefined); // not built yet
  if (built === fingerprint) return;
  const fresh = `${uiFolder}-${process.pid}`;
  const { NODE_ENV: mode } = process.env;
  try {
    process.env['NODE_ENV'] = 'production'; // inside a test, Vite would build React for development
    const { build } = await import('vite');
    await build({
      configFile: join(root, 'apps/web/vite.config.ts'),
      build: { outDir: fresh },
      logLevel: 'warn',
    });
    await compress(fresh);
    await writeFile(join(fresh, markFile), fingerprint);
    await rm(uiFolder, { recursive: true, force: true });
    await rename(fresh, uiFolder);
  } finally {
    // Later tests would get React without `act`.
    if (mode === undefined) delete process.env['NODE_ENV'];
    else process.env['NODE_ENV'] = mode;
    await rm(fresh, { recursive: true, force: true });
  }
}

async function fingerprintOfInputs(): Promise<string> {
  const hash = createHash('sha256');
  const paths = await Array.fromAsync(glob(inputs, { cwd: root, withFileTypes: true }));
  const files = paths.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  for (const file of files.toSorted()) {
    hash.update(file.slice(root.length)).update('\0');
    hash.update(await readFile(file)).update('\0');
  }
  return hash.digest('hex');
}

/** Replaces text files with their Brotli versions for browsers. */
async function compress(folder: string): Promise<void> {
  const texts = await Array.fromAsync(glob('**/*.{css,html,js,svg,webmanifest}', { cwd: folder }));
  const work = async (name: string): Promise<void> => {
    const path = join(folder, name);
    const text = await readFile(path);
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
    };
    await writeFile(`${path}.br`, await promisify(brotliCompress)(text, { params }));
    await rm(path);
  };
  await Promise.all(texts.map(work));
}

if (import.meta.main) await buildUi();
