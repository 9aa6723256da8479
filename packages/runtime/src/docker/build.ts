import type { Readable } from 'node:stream';
import { notFound, unavailable } from '@toolhive/contract/failure';
import { installationLimits } from '../installation-limits.ts';
import type { PrepareOptions } from '../runtime.ts';
import { proxyArguments } from './corporate-builds.ts';
import { followProgress, type Engine } from './engine.ts';

/** What an image is built from. */
export interface Build extends PrepareOptions {
  /** What is built, for messages: a package's URL. */
  title: string;
  /** The image reference that the result gets. */
  image: string;
  /** A tar archive with the Dockerfile and the files that it copies. */
  context: Readable;
  /** The Dockerfile's path in the archive. */
  dockerfile: string;
  /** Repeats every step, because a version range may now resolve to a newer release. */
  fresh: boolean;
  /** The daemon's environment, which names corporate proxies. */
  env: NodeJS.ProcessEnv;
}

const REMEMBERED_LINES = 30;
/** What the package managers say about a package or version that does not exist. */
const MISSING =
  /\bE404\b|ETARGET|No matching version|No solution found|not found in the package registry|unknown revision|not found: module|no matching versions/i;

/** Builds an image with the engine's own builder. Throws `not-found` for a package that does not exist. */
export async function buildImage(engine: Engine, build: Build): Promise<void> {
  const { title, image, context, dockerfile, fresh, env, report, signal } = build;
  const { args, notes } = proxyArguments(env);
  const query = {
    t: image,
    dockerfile,
    nocache: fresh ? '1' : '0',
    rm: '1',
    forcerm: '1',
    labels: JSON.stringify({ toolhive: 'true' }),
    buildargs: JSON.stringify(args),
    // A package may run code during installation, and builders have no process limit.
    memory: String(installationLimits.memoryBytes),
    memswap: String(installationLimits.memoryBytes),
  };
  const output: string[] = [];
  for (const note of notes) report(note);
  report(`building ${title}`);
  const lines = followProgress(engine, {
    method: 'POST',
    path: '/build',
    query,
    body: { tar: context },
    signal,
  });
  for await (const line of lines) {
    if (line.error !== undefined) throw buildFailure(title, line.error, output);
    const text = line.stream?.trim() ?? '';
    if (text === '') continue;
    output.push(text.slice(0, 1000));
    if (output.length > REMEMBERED_LINES) output.shift();
    const [, step, steps] = /^step (\d+)\/(\d+)/i.exec(text) ?? [];
    if (step !== undefined) report(`building ${title} (step ${step} of ${steps})`);
  }
}

function buildFailure(title: string, error: string, output: readonly string[]): Error {
  const cause = new Error([...output, error].join('\n'));
  if (MISSING.test(cause.message)) {
    return notFound(`${title} was not found`, {
      hint: 'check the name and the version of the package',
      cause,
    });
  }
  const last = output.findLast((line) => !/^step \d|^-+>/i.test(line));
  return unavailable(`${title} could not be built: ${error.slice(0, 300)}`, {
    hint: last === undefined ? 'check the network' : `last output: ${last.slice(0, 300)}`,
    cause,
  });
}
