import { SerialQueue } from '@toolhive/contract/serial-queue';
import type { Progress } from '@toolhive/runtime/runtime';
import { raiseFault } from '@toolhive/contract/fault';
import { refuseUnenforced } from '../permissions/enforcement.ts';
import type { OpenRemote } from '@toolhive/remote/open';
import type { RemoteAuthState } from '@toolhive/remote/auth-status';
import { remoteServer } from '@toolhive/remote/remote-server';
import type { StoredRunConfig } from '@toolhive/state/run-configs';
import type { LiveParts } from './live-parts.ts';
import type { SignInPace } from '@toolhive/remote/sign-in-pace';
import type { StartedServer } from './run-loop.ts';

/** How long a user may take to sign in. The flow of a remote server itself has a shorter limit. */
export const signInMs = 60 * 60_000;

export interface RemoteServerOptions {
  openRemote: OpenRemote;
  timing: { startMs: number };
}

/** What concerns one attempt to reach the server. */
interface Attempt {
  live: LiveParts;
  report: Progress;
  signal: AbortSignal;
  /** How often the user may be asked to sign in, across all attempts. */
  pace: SignInPace;
  /** Whether a request waits until the user has signed in. */
  isPatient: () => boolean;
  /** Receives each change of the sign-in, one after the other, until the signal aborts. Never rejects. */
  onSignIn: (state: RemoteAuthState) => Promise<void>;
  /** Receives why the user has not signed in, if no request waits for that. */
  onNotSignedIn: (error: unknown) => void;
}

/** Prepares the connection to a remote server. Such a server never ends, but can refuse requests. */
export async function reachRemoteServer(
  stored: StoredRunConfig,
  { openRemote, timing }: RemoteServerOptions,
  { live, report, signal, pace, isPatient, onSignIn, onNotSignedIn }: Attempt,
): Promise<StartedServer> {
  const { runConfig } = stored;
  refuseUnenforced(runConfig);
  const { name, remote_url: url = '', token_exchange_config: exchange } = runConfig;
  const callersAuthenticate = Boolean(exchange);
  const changes = new SerialQueue();
  const auth = await openRemote(stored, (state) => {
    changes.run(() => (signal.aborted ? undefined : onSignIn(state))).catch(raiseFault);
  });
  live.remote = auth;
  report(`reaching ${url}`);
  const hint = `\`thv restart ${name}\` asks again`;
  return {
    id: url,
    server: {
      address: remoteServer({
        url: auth.url,
        auth,
        isPatient,
        onNotSignedIn,
        hint,
        pace,
        callersAuthenticate,
        signal,
      }),
    },
    startAnother: () => Promise.reject(new Error('a remote server is not started from here')),
    ended: new Promise(() => {}),
    async stop() {
      live.remote = undefined;
      await auth[Symbol.asyncDispose]();
      await changes.idle();
    },
    firstAnswerMs: timing.startMs + signInMs,
  };
}
