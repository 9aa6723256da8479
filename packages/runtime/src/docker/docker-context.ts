import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';

/** The engine that the user has chosen for Docker and Podman commands. */
export interface ChosenEngine {
  /** The path of its socket. Undefined if the engine listens on a network address. */
  socket: string | undefined;
  /** Where the choice was made, for errors: `DOCKER_HOST`. */
  by: string;
}

/**
 * The engine that `docker` or `podman` commands use with this environment: of `DOCKER_HOST`, `CONTAINER_HOST`, or the
 * Docker context. Read anew each time, because `docker context use` changes it. Undefined if nothing was chosen.
 */
export async function chosenEngine(env: NodeJS.ProcessEnv): Promise<ChosenEngine | undefined> {
  for (const by of ['DOCKER_HOST', 'CONTAINER_HOST']) {
    const address = env[by];
    if (address) return { socket: socketOf(address), by };
  }
  const name = env.DOCKER_CONTEXT || (await read(env, Config, 'config.json'))?.currentContext;
  if (!name || name === 'default') return undefined;
  const directory = createHash('sha256').update(name).digest('hex');
  const context = await read(env, Context, 'contexts', 'meta', directory, 'meta.json');
  const address = context?.Endpoints.docker?.Host;
  return address ? { socket: socketOf(address), by: `the Docker context ${name}` } : undefined;
}

/** The path of a local socket or Windows pipe. Undefined for addresses of other machines. */
function socketOf(address: string): string | undefined {
  const [, scheme, path = ''] = /^(unix|npipe):\/\/(.+)$/.exec(address) ?? [];
  if (scheme === 'npipe') return path.replaceAll('/', '\\');
  return path.startsWith('/') ? path : undefined;
}

const Config = z.looseObject({ currentContext: z.string().optional() });
const Context = z.looseObject({
  Endpoints: z.looseObject({ docker: z.looseObject({ Host: z.string().optional() }).optional() }),
});

/** Reads one of Docker's files. A file that is missing or damaged chooses nothing. */
async function read<T>(
  env: NodeJS.ProcessEnv,
  schema: z.ZodType<T>,
  ...path: string[]
): Promise<T | undefined> {
  const directory = env.DOCKER_CONFIG || join(env.HOME || homedir(), '.docker');
  try {
    return schema.parse(JSON.parse(await readFile(join(directory, ...path), 'utf8')));
  } catch {
    return undefined;
  }
}
