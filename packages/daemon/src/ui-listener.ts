import { createApi } from '@toolhive/api/api';
import { listenOnTcp } from '@toolhive/api/listen';
import type { Listener } from '@toolhive/api/listen';
import { AppFrames } from '@toolhive/api/app-frames';
import type { Site } from '@toolhive/api/site';
import { openUi, uiPath } from '@toolhive/api/ui';
import type { UiSessions } from '@toolhive/api/ui-sessions';
import type { Core } from '@toolhive/core/core';
import { ThvError, invalid, unauthorized, unavailable } from '@toolhive/contract/failure';
import { uiFiles } from './ui-files.ts';

/** The address of the web UI, if `thv serve` serves it. */
interface Served {
  host: string;
  port: number;
  /** Whether callers have to authenticate. */
  isGuarded: boolean;
}

/** The port of `thv serve`, which people know, unless the environment says otherwise. */
function usualPort(): number {
  const text = process.env['TOOLHIVE_UI_PORT'] ?? '8080';
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw invalid(`TOOLHIVE_UI_PORT is not a port: ${JSON.stringify(text)}`, {
    hint: 'write a number such as 9090',
  });
}

/**
 * Serves the web UI for `thv ui`: on the TCP listener of `thv serve`, or on a separate listener that accepts only
 * browsers that have signed in, because every program and web page on this machine can reach a port.
 */
export class UiListener implements AsyncDisposable {
  readonly #core: Core;
  readonly #sessions: UiSessions;
  /** Opened with the daemon, so that they belong to its version. */
  readonly #files = uiFiles();
  #served: Promise<Served> | undefined;
  #own: Listener | undefined;
  #frames: AppFrames | undefined;

  constructor(core: Core, sessions: UiSessions) {
    this.#core = core;
    this.#sessions = sessions;
  }

  /** Takes a listener that serves the web UI already. */
  use(served: Served): void {
    this.#served = Promise.resolve(served);
  }

  /** Returns the address of the web UI, with a code for one browser if browsers have to sign in. */
  async open(): Promise<string> {
    if (this.#served === undefined) {
      this.#served = this.#listen();
      this.#served.catch(() => (this.#served = undefined)); // the next call tries again
    }
    const { host, port, isGuarded } = await this.#served;
    const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
    const address = `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}${uiPath}`;
    return isGuarded ? `${address}#code=${this.#sessions.issueCode()}` : address;
  }

  /** The web UI and its frames, for the API of a listener. Undefined if this installation has none. */
  site(): { ui: Site; appFrames: AppFrames } | undefined {
    const read = this.#files;
    if (read === undefined) return undefined;
    const appFrames = (this.#frames ??= new AppFrames(read));
    return { ui: openUi(read, appFrames), appFrames };
  }

  async #listen(): Promise<Served> {
    const site = this.site();
    if (site === undefined) {
      throw unavailable('this installation has no web UI', {
        hint: 'run npm run ui:build, or install ToolHive again',
      });
    }
    const host = '127.0.0.1';
    const listen = (port: number): Promise<Listener> => {
      const access = async (): Promise<never> => {
        throw unauthorized('sign in to the web UI', { hint: 'run thv ui' });
      };
      const app = createApi(this.#core, {
        listener: { host, port, access },
        ...site,
        uiSessions: this.#sessions,
      });
      return listenOnTcp(app, { host, port });
    };
    this.#own = await listen(usualPort()).catch((thrown: unknown) => {
      if (thrown instanceof ThvError && thrown.kind === 'conflict') return listen(0);
      throw thrown;
    });
    return { host, port: this.#own.port, isGuarded: true };
  }

  /** How long no browser was connected. */
  idleMs(): number {
    return this.#own?.idleMs() ?? Number.POSITIVE_INFINITY;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#own?.[Symbol.asyncDispose]();
    await this.#frames?.[Symbol.asyncDispose]();
  }
}
