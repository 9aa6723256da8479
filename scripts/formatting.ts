import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { check, getFileInfo, resolveConfig, version } from 'prettier';
import { run } from './run.ts';

/** How many contents are remembered: those of several branches. */
const maxKnown = 30_000;

interface FormattingOptions {
  root: string;
  /** A file that remembers which contents are formatted. */
  memory: string;
}

/**
 * The files of a repository that Prettier would change. Formatting all of them takes most of a minute, so contents are remembered
 * by their hashes, wherever their clone is. Prettier's own cache knows files by their paths, and forgets those of other clones.
 */
export async function findUnformatted({ root, memory }: FormattingOptions): Promise<string[]> {
  const options = { cwd: root, maxBuffer: 64 * 1024 * 1024 };
  const words = ['ls-files', '-z', '-co', '--exclude-standard'];
  const listed = await promisify(execFile)('git', words, options).catch(() => undefined); // an archive, not a clone
  if (listed === undefined) {
    const code = await run('prettier', ['--check', '--log-level=warn', root]);
    return code === 0 ? [] : [`files in ${root} are not formatted`];
  }
  const paths = listed.stdout.split('\0').filter((path) => path !== '');
  const readFrom = (path: string): Promise<string> => readFile(join(root, path), 'utf8').catch(() => '');
  const settings = [
    version,
    ...(await Promise.all(['.prettierrc.json', '.editorconfig', '.prettierignore'].map(readFrom))),
  ];
  const known = new Set((await readFile(memory, 'utf8').catch(() => '')).split('\n'));
  const current: string[] = [];
  const found: string[] = [];
  for (const path of paths) {
    const content = await readFrom(path); // empty if it was removed, or leads nowhere
    const key = hash('sha256', [...settings, path, content].join('\0'), 'base64url');
    if (!known.has(key) && !(await isFormatted(root, path, content))) found.push(`${path} is not formatted`);
    else current.push(key);
  }
  const others = [...known.difference(new Set(current))].filter((key) => key !== '');
  await remember(memory, [...current, ...others].slice(0, maxKnown));
  return found;
}

async function isFormatted(root: string, path: string, content: string): Promise<boolean> {
  const filepath = join(root, path);
  const { ignored, inferredParser } = await getFileInfo(filepath, {
    ignorePath: join(root, '.prettierignore'),
  });
  if (ignored || inferredParser === null) return true;
  const config = await resolveConfig(filepath, { editorconfig: true });
  return check(content, { ...config, filepath }).catch(() => false); // Prettier cannot read it
}

/** Replaces the file at once, because other checks may read it. */
async function remember(memory: string, keys: readonly string[]): Promise<void> {
  const next = `${memory}.${process.pid}`;
  await mkdir(dirname(memory), { recursive: true });
  await writeFile(next, keys.join('\n'));
  await rename(next, memory);
}
