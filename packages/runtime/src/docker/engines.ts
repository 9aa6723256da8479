import { type Engine, connectEngine } from './engine.ts';
import { candidateSockets, findEngine } from './sockets.ts';

/**
 * The engines of this machine. Looks for one at each call, so that an engine that starts or restarts later is found.
 * Prefers the engine that answered last.
 */
export class Engines {
  readonly #env: NodeJS.ProcessEnv;
  readonly #only: string | undefined;
  #last: string | undefined;

  /** `only` is the one socket to use, instead of looking for one. */
  constructor(env: NodeJS.ProcessEnv, only: string | undefined) {
    this.#env = env;
    this.#only = only;
  }

  async find(signal?: AbortSignal): Promise<Engine> {
    const found = await findEngine(await this.#sockets(), signal);
    this.#last = found.socket;
    return found;
  }

  /** Connects every engine. Calls `failed` for those that do not answer. */
  async *all(failed: (socket: string, error: unknown) => void): AsyncGenerator<Engine> {
    for (const socket of await this.#sockets()) {
      const engine = await connectEngine(socket).catch((error: unknown) => failed(socket, error));
      if (engine !== undefined) yield engine;
    }
  }

  async #sockets(): Promise<string[]> {
    if (this.#only !== undefined) return [this.#only];
    const found = await candidateSockets(this.#env);
    const last = this.#last;
    return last === undefined ? found : [last, ...found.filter((socket) => socket !== last)];
  }
}
