/** Whether a workload is authorized at its remote server. */
export type RemoteAuthState =
  /** As far as is known: the server has not asked for a token. */
  | { kind: 'not needed' }
  /** `onlyInMemory` says why the tokens will not outlive the daemon, if so. */
  | { kind: 'authorized'; onlyInMemory?: string }
  /** `url` is where the user can agree, while a sign-in waits for that. */
  | { kind: 'needs authorization'; why: string; scope?: string; url?: string };

/** The facts behind the state. `publish` reports the state if they have changed it. */
export class AuthStatus {
  isAuthorized = false;
  onlyInMemory: string | undefined;
  /** Why the user must sign in. */
  why: string | undefined;
  /** The scopes that the server requests, if known. */
  scope: string | undefined;
  /** Where the user can sign in. */
  url: string | undefined;
  #published: RemoteAuthState = { kind: 'not needed' };
  readonly #onChange: ((state: RemoteAuthState) => void) | undefined;

  constructor(onChange: ((state: RemoteAuthState) => void) | undefined) {
    this.#onChange = onChange;
  }

  /** The state that was published last. */
  get published(): RemoteAuthState {
    return this.#published;
  }

  publish(): void {
    const next = this.#state();
    if (JSON.stringify(next) === JSON.stringify(this.#published)) return;
    this.#published = next;
    this.#onChange?.(next);
  }

  #state(): RemoteAuthState {
    if (this.url !== undefined || this.why !== undefined) {
      const why = this.why ?? 'a sign-in is in progress';
      return {
        kind: 'needs authorization',
        why,
        ...(this.scope !== undefined && { scope: this.scope }),
        ...(this.url !== undefined && { url: this.url }),
      };
    }
    if (!this.isAuthorized) return { kind: 'not needed' };
    return {
      kind: 'authorized',
      ...(this.onlyInMemory !== undefined && { onlyInMemory: this.onlyInMemory }),
    };
  }
}

/** The state as a phrase for a workload's status. Undefined if the state needs no explanation. */
export function describeRemoteAuth(state: RemoteAuthState): string | undefined {
  if (state.kind === 'not needed') return undefined;
  if (state.kind === 'needs authorization') {
    return state.url === undefined
      ? `needs authorization: ${state.why}`
      : `needs authorization: ${signInAt(state.url, state.scope)}`;
  }
  return state.onlyInMemory && `authorized until the daemon ends: ${state.onlyInMemory}`;
}

/** What the user is to do, as a phrase. */
export function signInAt(url: string, scope: string | undefined): string {
  return scope === undefined ? `sign in at ${url}` : `sign in for ${scope} at ${url}`;
}
