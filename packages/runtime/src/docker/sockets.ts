import { glob, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ThvError, unavailable } from '@toolhive/contract/failure';
import { chosenEngine } from './docker-context.ts';
import { connectEngine, errorCode, type Engine } from './engine.ts';

/** Where an engine might listen, in the order in which they are tried. */
interface SocketPlace {
  /** Names a socket explicitly. If set, it replaces all default locations. */
  variable: string;
  unix: (places: Places) => (string | undefined)[];
  windows: string[];
}

interface Places {
  home: string;
  runtimeDir: string | undefined;
  temporary: string;
}

const socketPlaces: SocketPlace[] = [
  {
    variable: 'TOOLHIVE_PODMAN_SOCKET',
    unix: ({ home, runtimeDir, temporary }) => [
      join(temporary, 'podman/*-api.sock'),
      '/var/run/podman/podman.sock',
      runtimeDir && join(runtimeDir, 'podman/podman.sock'),
      join(home, '.local/share/containers/podman/machine/podman.sock'),
    ],
    windows: ['\\\\.\\pipe\\podman-api'],
  },
  {
    variable: 'TOOLHIVE_DOCKER_SOCKET',
    unix: ({ home, runtimeDir }) => [
      '/var/run/docker.sock',
      runtimeDir && join(runtimeDir, 'docker.sock'),
      join(home, '.docker/run/docker.sock'),
      join(home, '.docker/desktop/docker.sock'),
      join(home, '.orbstack/run/docker.sock'),
      join(home, '.rd/docker.sock'),
    ],
    windows: ['\\\\.\\pipe\\docker_engine'],
  },
  {
    variable: 'TOOLHIVE_COLIMA_SOCKET',
    unix: ({ home }) => [join(home, '.colima/default/docker.sock')],
    windows: [],
  },
];

/** The sockets to try. */
export interface Candidates {
  /** The engine that `docker` or `podman` commands use, if the user has chosen one. Comes first. */
  chosen: string | undefined;
  /** The others, in order. */
  others: readonly string[];
  /** Names a choice that cannot be followed, because that engine listens on a network address. */
  unusable?: string;
}

/** Only the sockets in ToolHive's environment variables, or else the chosen engine and the existing default sockets. */
export async function candidateSockets(
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): Promise<Candidates> {
  const named = socketPlaces.flatMap(({ variable }) => env[variable] || []);
  if (named.length > 0) return { chosen: undefined, others: named };
  const choice = await chosenEngine(env);
  const others = (await defaultSockets(env, platform)).filter((socket) => socket !== choice?.socket);
  const isUnusable = choice !== undefined && choice.socket === undefined;
  return { chosen: choice?.socket, others, ...(isUnusable && { unusable: choice.by }) };
}

async function defaultSockets(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): Promise<string[]> {
  if (platform === 'win32') return socketPlaces.flatMap(({ windows }) => windows);
  const places = {
    home: env.HOME ?? '/',
    runtimeDir: env.XDG_RUNTIME_DIR,
    temporary: env.TMPDIR ?? tmpdir(),
  };
  const found: string[] = [];
  for (const pattern of socketPlaces.flatMap(({ unix }) => unix(places))) {
    if (pattern === undefined) continue;
    if (pattern.includes('*')) found.push(...(await Array.fromAsync(glob(pattern))).toSorted());
    else if (await exists(pattern)) found.push(pattern);
  }
  return found;
}

/**
 * Returns the first engine that answers on one of the sockets. If none answers, throws an error that suggests a fix, and
 * names the choice of the user that is `unusable`.
 */
export async function findEngine(
  sockets: readonly string[],
  { signal, unusable }: { signal?: AbortSignal | undefined; unusable?: string | undefined } = {},
): Promise<Engine> {
  const failures: ThvError[] = [];
  for (const socket of sockets) {
    try {
      return await connectEngine(socket, signal);
    } catch (error) {
      if (!(error instanceof ThvError) || error.kind === 'cancelled') throw error;
      failures.push(error);
    }
  }
  // The user can fix missing permissions, so this error is more useful than another socket without a listener.
  const telling = failures.find(({ kind }) => kind === 'forbidden') ?? failures[0];
  const remote = unusable && `, and the engine of ${unusable} is not on this machine`;
  throw unavailable(`${telling?.message ?? 'no container engine was found'}${remote ?? ''}`, {
    hint:
      telling?.kind === 'forbidden'
        ? telling.hint
        : `start Docker, Podman, or Colima, or set the path of its socket in ${socketPlaces.map(({ variable }) => variable).join(', ')}`,
    cause: telling,
  });
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    // An unreadable directory may contain a socket. Trying the socket produces the right error.
    return errorCode(error) === 'EACCES';
  }
}
