import { ThvError, unavailable } from '@toolhive/contract/failure';
import { type Engine, connectEngine, isFailure } from './engine.ts';
import { candidateSockets, findEngine, type Candidates } from './sockets.ts';

/**
 * How long ToolHive waits for an engine that does not answer any more. Its images and volumes are not in another engine,
 * so a restart must not move servers there.
 */
const AWAY_MS = 60_000;

/**
 * The engines of this machine. Looks for one at each call, so that an engine that starts or restarts later is found.
 * Prefers the engine that the user has chosen for `docker` commands, and then the engine that answered last.
 */
export class Engines {
  readonly #env: NodeJS.ProcessEnv;
  readonly #only: string | undefined;
  readonly #now: () => number;
  #last: string | undefined;
  /** Since when the last engine does not answer. */
  #awaySince: number | undefined;

  /** `only` is the one socket to use, instead of looking for one. `now` is a clock in milliseconds. */
  constructor(env: NodeJS.ProcessEnv, only: string | undefined, now = () => performance.now()) {
    this.#env = env;
    this.#only = only;
    this.#now = now;
  }

  async find(signal?: AbortSignal): Promise<Engine> {
    const { chosen, others, unusable } = await this.#candidates();
    const last = this.#last;
    const isKept = last !== undefined && (chosen === undefined || chosen === last);
    const engine = isKept ? await this.#again(last, signal) : undefined;
    const all = inOrder([chosen, last, ...others]);
    const found = engine ?? (await findEngine(all, { signal, unusable }));
    this.#last = found.socket;
    this.#awaySince = undefined;
    return found;
  }

  /** Connects every engine. Calls `failed` for those that do not answer. */
  async *all(failed: (socket: string, error: unknown) => void): AsyncGenerator<Engine> {
    const { chosen, others } = await this.#candidates();
    for (const socket of inOrder([chosen, ...others])) {
      const engine = await connectEngine(socket).catch((error: unknown) => failed(socket, error));
      if (engine !== undefined) yield engine;
    }
  }

  /** Connects the last engine. Returns undefined if another one may take its place. */
  async #again(last: string, signal: AbortSignal | undefined): Promise<Engine | undefined> {
    try {
      return await connectEngine(last, signal);
    } catch (error) {
      if (!(error instanceof ThvError) || isFailure(error, 'cancelled')) throw error;
      this.#awaySince ??= this.#now();
      if (this.#now() - this.#awaySince > AWAY_MS) return undefined;
      throw unavailable(error.message, {
        hint: `start the container engine again. After ${AWAY_MS / 1000} seconds, ToolHive looks for another one`,
        cause: error,
      });
    }
  }

  async #candidates(): Promise<Candidates> {
    if (this.#only !== undefined) return { chosen: undefined, others: [this.#only] };
    return candidateSockets(this.#env);
  }
}

/** Without sockets that are missing or appear again. */
function inOrder(sockets: readonly (string | undefined)[]): string[] {
  return [...new Set(sockets)].filter((socket) => socket !== undefined);
}
