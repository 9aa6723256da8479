import { messageOf, unauthorized } from '@toolhive/contract/failure';
import type { RemoteServer } from '@toolhive/proxy/proxy';
import { signInAt } from './auth-status.ts';
import type { RemoteAuth } from './remote-auth.ts';
import type { SignInPace } from './sign-in-pace.ts';

export interface RemoteServerOptions {
  url: string;
  auth: RemoteAuth;
  /** Does whoever asks now wait for the user to sign in? A call of a client does not: it can be made again. */
  isPatient: () => boolean;
  /** Told that nobody has signed in, when nobody waits for that. */
  onNotSignedIn: (error: unknown) => void;
  /** What the user can do when nobody has signed in. */
  hint: string;
  /** How often the user may be asked. */
  pace: SignInPace;
  /** Ends a sign-in. */
  signal: AbortSignal;
}

/** A remote server as the proxy uses it, with the authorization of every request. */
export function remoteServer(options: RemoteServerOptions): RemoteServer {
  const { url, auth, isPatient, onNotSignedIn, hint, pace, signal } = options;
  return {
    kind: 'remote',
    url,
    connect: auth.connect,
    headers: () => auth.headers(),
    async refused(refusal) {
      const answer = await auth.challenged(refusal);
      if (answer !== 'needs authorization') return answer === 'retry';
      const agreed = auth.authorize(signal, pace).catch((cause: unknown) => {
        throw unauthorized(`nobody has signed in: ${messageOf(cause)}`, { hint, cause });
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
