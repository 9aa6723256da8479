import { createHash } from 'node:crypto';
import { glob, readFile, readlink, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { dirname, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compressSite, type Effort } from './compress.ts';
import { run } from './run.ts';
import { writeSiteFiles } from './site-files.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const docs = `${root}apps/docs/`;
/** Where the built site is. */
export const siteFolder = `${docs}build`;

/** Everything that the site is made of, from the root of the repository. */
const inputs = [
  'CHANGELOG.md',
  'apps/docs/*.{ts,json}',
  'apps/docs/{docs,src,static}/**/*',
  'packages/contract/generated/*',
  'packages/registry/src/default-registry.json',
  'package-lock.json',
];

export interface SiteOptions {
  /** The target directory. The default is beside the repository's pages. */
  folder?: string;
  /** The site settings for `apps/docs/site.ts`. The default is this process's environment. */
  env?: NodeJS.ProcessEnv;
  /** The file with the configuration. The default is the one of the site. */
  config?: string;
  /** How hard its files are compressed. */
  effort?: Effort;
  /** Called before the site is built, which takes a minute. */
  onBuild?: () => void;
}

/** Builds the site unless nothing has changed. Returns whether the built site is current. */
export async function buildDocs({
  folder = siteFolder,
  env = process.env,
  config = `${docs}docusaurus.config.ts`,
  effort = 'small',
  onBuild = () => {},
}: SiteOptions = {}): Promise<boolean> {
  await using _turn = await ownTurn();
  await (siteFiles ??= writeSiteFiles());
  const fingerprint = await fingerprintOf(env, config);
  if ((await fingerprintIn(folder)) === fingerprint) {
    await compressSite(folder, effort);
    return true;
  }
  onBuild();
  // Built beside the old site and then renamed, so that readers always find a complete site.
  const fresh = `${folder}-${process.pid}`;
  try {
    const code = await run('docusaurus', ['build', docs, '--config', config, '--out-dir', fresh], {
      ...env,
      NO_UPDATE_NOTIFIER: '1',
    });
    if (code !== 0) return false;
    await compressSite(fresh, effort, folder);
    await writeFile(`${fresh}/${fingerprintFile}`, fingerprint);
    await rm(folder, { recursive: true, force: true });
    await rename(fresh, folder);
    return true;
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

/** Written once in a process, which builds several sites from the same sources. */
let siteFiles: Promise<void> | undefined;

/** The file in a built site with the hash of its sources. */
const fingerprintFile = '.fingerprint';

function fingerprintIn(folder: string): Promise<string> {
  return readFile(`${folder}/${fingerprintFile}`, 'utf8').catch(() => ''); // not built is not current
}

/** A text that changes with the site's sources, configuration, and settings. */
async function fingerprintOf(env: NodeJS.ProcessEnv, config: string): Promise<string> {
  const hash = createHash('sha256');
  const settings = Object.entries(env).filter(([name]) => name.startsWith('DOCS_'));
  hash.update(JSON.stringify(Object.fromEntries(settings)));
  const own = relative(root, dirname(config));
  const paths = await Array.fromAsync(glob([...inputs, `${own}/*.ts`], { cwd: root }));
  for (const path of [...new Set(paths)].toSorted()) {
    const { mtimeMs, size } = await stat(root + path);
    hash.update(`${path} ${mtimeMs} ${size}\n`);
  }
  return hash.digest('hex');
}

/** Waits until no other build runs: they would write the same generated files. */
async function ownTurn(): Promise<AsyncDisposable> {
  const lock = `${docs}.build-owner`;
  for (;;) {
    // A dangling link contains the owner's process ID from the start. A file would be empty for a moment.
    const isOurs = await symlink(String(process.pid), lock).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
        return false; // somebody has it
      },
    );
    if (isOurs) return { [Symbol.asyncDispose]: () => rm(lock, { force: true }) };
    const owner = Number(await readlink(lock).catch(() => '0')); // given back meanwhile
    if (owner > 0 && !isAlive(owner)) await rm(lock, { force: true });
    await setTimeout(200);
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'; // somebody else's
  }
}

if (import.meta.main) {
  // For this machine only, as in `npm start`, less work is more important than fewer bytes.
  const effort = process.argv.includes('--quick') ? 'quick' : 'small';
  if (!(await buildDocs({ effort, onBuild: () => process.send?.('building') }))) process.exitCode = 1;
}
