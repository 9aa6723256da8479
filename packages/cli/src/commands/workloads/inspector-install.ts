import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { unavailable } from '@toolhive/contract/failure';
import { statePaths } from '@toolhive/state/paths';
import { startGroup } from '../../process-group.ts';
import { untilAborted } from '../../wait.ts';

/** The official MCP Inspector. npm installs it on first use. */
const name = '@modelcontextprotocol/inspector';
const version = '2.12.0';

/** How much of a program's output is kept to explain a failure. */
const keptCharacters = 4_000;

/**
 * Returns a directory with the inspector, which npm installs if it is missing. Only a complete installation gets the name of
 * its version, so that an installation that was killed at any time does not affect later ones, as npm's own lock would.
 */
export async function installedInspector(signal: AbortSignal): Promise<string> {
  const folder = join(statePaths(process.env).cache, 'inspector');
  const installed = join(folder, version);
  if (isComplete(installed)) return installed;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await removeAbandoned(folder);
  const place = await mkdtemp(join(folder, `${prefix}${process.pid}-`));
  try {
    await install(place, signal);
    await removeIncomplete(installed, `${place}-before`);
    await rename(place, installed).catch((error: unknown) => {
      if (!isComplete(installed)) throw error; // otherwise, another process was faster
    });
  } finally {
    await rm(place, { recursive: true, force: true, maxRetries: 3 });
  }
  return installed;
}

const prefix = 'installing-';

/** Removes an installation without all of its files, but not one that another process has just completed, and uses. */
async function removeIncomplete(installed: string, aside: string): Promise<void> {
  if (isComplete(installed) || !existsSync(installed)) return;
  await rename(installed, aside).catch(() => {}); // another process was faster
  if (isComplete(aside)) await rename(aside, installed).catch(() => {});
  await rm(aside, { recursive: true, force: true, maxRetries: 3 });
}

function isComplete(folder: string): boolean {
  return existsSync(join(folder, 'node_modules', name, 'package.json'));
}

/** Removes the installations of processes that were killed. */
async function removeAbandoned(folder: string): Promise<void> {
  for (const entry of await readdir(folder)) {
    const pid = entry.startsWith(prefix) ? Number.parseInt(entry.slice(prefix.length), 10) : Number.NaN;
    if (Number.isNaN(pid) || isRunning(pid)) continue;
    await rm(join(folder, entry), { recursive: true, force: true, maxRetries: 3 });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The inspector does not need compiled packages, so no package scripts run. */
async function install(place: string, signal: AbortSignal): Promise<void> {
  const words = ['install', '--prefix', place, '--ignore-scripts', '--no-audit', '--no-fund'];
  await using npm = startGroup('npm', [...words, `${name}@${version}`], inspectorEnvironment());
  const output = lastOutputOf(npm.output);
  await Promise.race([npm.ended, untilAborted(signal)]);
  signal.throwIfAborted();
  if ((await npm.ended) === 'exit code 0' && isComplete(place)) return;
  throw unavailable('the inspector could not be installed', {
    hint: output().find((line) => /npm (?:error|ERR!) \S/.test(line)) ?? 'is npm installed?',
  });
}

/** The environment without ToolHive's own variables, some of which are secret. */
export function inspectorEnvironment(): NodeJS.ProcessEnv {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([variable]) => !variable.startsWith('TOOLHIVE_')),
  );
  // The current Node.js is new enough. The system's may not be.
  return { ...env, PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}` };
}

/** Reads the output of a program, and returns its last lines. */
export function lastOutputOf(streams: readonly NodeJS.ReadableStream[]): () => string[] {
  let output = '';
  for (const stream of streams)
    stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-keptCharacters)));
  return () => output.trim().split('\n');
}
