import { createHash } from 'node:crypto';
import { glob, readFile, readlink, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { compressSite, type Effort } from './compress.ts';
import { run } from './run.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const docs = `${root}apps/docs/`;
/** Where the built site is. */
export const siteFolder = `${docs}build`;

/** Everything that the site is made of, from the root of the repository. */
const inputs = [
  'apps/docs/*.{ts,json}',
  'apps/docs/{docs,src,static}/**/*',
  'packages/contract/generated/*',
  'packages/core/src/registry/default-registry.json',
  'package-lock.json',
];

export interface SiteOptions {
  /** Where to; beside the pages of the repository when absent. */
  folder?: string;
  /** Settings of the site, as `apps/docs/site.ts` reads them; those of this process when absent. */
  env?: NodeJS.ProcessEnv;
  /** How hard its files are compressed. */
  effort?: Effort;
}

/** Builds the site; does nothing when nothing has changed. Returns whether there is a current one now. */
export async function buildDocs({
  folder = siteFolder,
  env = process.env,
  effort = 'small',
}: SiteOptions = {}): Promise<boolean> {
  await using _turn = await ownTurn();
  const fingerprint = await fingerprintOf(env);
  if ((await fingerprintIn(folder)) === fingerprint) {
    await compressSite(folder, effort);
    return true;
  }
  // Made beside the old one and put in its place, so that whoever reads it meanwhile finds one of both.
  const fresh = `${folder}-${process.pid}`;
  try {
    const code = await run('docusaurus', ['build', docs, '--out-dir', fresh], {
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

/** Whether the built site is what would be built now. */
export async function isSiteCurrent(): Promise<boolean> {
  return (await fingerprintIn(siteFolder)) === (await fingerprintOf(process.env));
}

/** In a built site, what it was made of. */
const fingerprintFile = '.fingerprint';

function fingerprintIn(folder: string): Promise<string> {
  return readFile(`${folder}/${fingerprintFile}`, 'utf8').catch(() => ''); // not built is not current
}

/** A text that changes when something of the site does, or what the environment says about it. */
async function fingerprintOf(env: NodeJS.ProcessEnv): Promise<string> {
  const hash = createHash('sha256');
  const settings = Object.entries(env).filter(([name]) => name.startsWith('DOCS_'));
  hash.update(JSON.stringify(Object.fromEntries(settings)));
  const paths = await Array.fromAsync(glob(inputs, { cwd: root }));
  for (const path of paths.toSorted()) {
    const { mtimeMs, size } = await stat(root + path);
    hash.update(`${path} ${mtimeMs} ${size}\n`);
  }
  return hash.digest('hex');
}

/** Waits until no other build runs: they would write the same generated files. */
async function ownTurn(): Promise<AsyncDisposable> {
  const lock = `${docs}.build-owner`;
  for (;;) {
    // A link to nothing has the owner's number from the first moment on; a file would be empty for one.
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
  // For nobody but this machine, as `npm start` does it, less work is worth more than fewer bytes.
  const effort = process.argv.includes('--quick') ? 'quick' : 'small';
  if (!(await buildDocs({ effort }))) process.exitCode = 1;
}
