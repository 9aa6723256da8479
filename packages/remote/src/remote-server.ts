import { ThvError, messageOf, unauthorized } from '@toolhive/contract/failure';
import type { RemoteServer } from '@toolhive/proxy/proxy';
import { signInAt } from './auth-status.ts';
import type { RemoteAuth } from './remote-auth.ts';
import type { SignInPace } from './sign-in-pace.ts';

export interface RemoteServerOptions {
  url: string;
  auth: RemoteAuth;
  /**
   * Whether the current caller waits for the user's sign-in. A client's call does not, because the client can repeat
   * it.
   */
  isPatient: () => boolean;
  /** Called when a sign-in is missing and no caller waits for it. */
  onNotSignedIn: (error: unknown) => void;
  /** The user's next step if the sign-in is missing. */
  hint: string;
  /** How often the user may be asked. */
  pace: SignInPace;
  /** Whether each caller has credentials of its own, so that a refusal does not ask the user to sign in. */
  callersAuthenticate?: boolean;
  /** Ends a sign-in. */
  signal: AbortSignal;
}

/** The message with the error's advice, because a workload's status has only one text. */
function withAdvice(error: unknown): string {
  const advice = error instanceof ThvError ? error.hint : undefined;
  return advice === undefined ? messageOf(error) : `${messageOf(error)}; ${advice}`;
}

/** A remote server for the proxy, with the authorization of every request. */
export function remoteServer(options: RemoteServerOptions): RemoteServer {
  const { url, auth, isPatient, onNotSignedIn, hint, pace, callersAuthenticate = false, signal } = options;
  return {
    kind: 'remote',
    url,
    callersAuthenticate,
    open: auth.open,
    headers: () => auth.headers(),
    async refused(refusal) {
      if (callersAuthenticate) return false;
      const answer = await auth.challenged(refusal);
      if (answer !== 'needs authorization') return answer === 'retry';
      const agreed = auth.authorize(signal, pace).catch((cause: unknown) => {
        throw unauthorized(`sign-in missing: ${withAdvice(cause)}`, { hint, cause });
      });
      if (!isPatient()) {
        agreed.catch(onNotSignedIn);
        const page = await Promise.race([auth.page, agreed]);
        if (page === undefined) return true; // the user has agreed already
        const { state } = auth;
        throw unauthorized(signInAt(page, state.kind === 'needs authorization' ? state.scope : undefined));
      }
      await agreed;
      return true;
    },
  };
}
