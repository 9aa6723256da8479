import type { RunConfig } from '@toolhive/contract/run-config';
import type { RemoteServer } from '@toolhive/proxy/proxy';
import {
  formatReference,
  parseReference,
  secretPlacesIn,
  withSecretValues,
} from '@toolhive/secrets/reference';
import type { StoredRunConfig } from '@toolhive/state/run-configs';
import { TokenStore } from './kept.ts';
import type { SignIns } from './kept.ts';
import type { RemoteAuthState } from './auth-status.ts';
import type { RemoteAuth } from './remote-auth.ts';
import { remoteServer } from './remote-server.ts';
import type { Network } from './requests.ts';
import type { RemoteAuthConfig } from './settings.ts';
import { SignInPace } from './sign-in-pace.ts';

/** Prepares the connection to a workload's remote server. Makes no requests. */
export type OpenRemote = (
  stored: StoredRunConfig,
  onChange: (state: RemoteAuthState) => void,
) => Promise<RemoteAuth>;

interface RemoteOpenerOptions extends Network {
  clientDocument?: string | undefined;
  /** Reads a secret for a workload. */
  readSecret: (workload: string, secret: string) => Promise<string>;
}

/** How this daemon does that: with its own sign-ins, and the browser of its user. */
export function remoteOpener(
  signIns: SignIns,
  openBrowser: (url: string) => Promise<unknown> = openInBrowser,
  { clientDocument, readSecret, ...network }: RemoteOpenerOptions,
): OpenRemote {
  return async ({ id, runConfig }, onChange) => {
    const { name, remote_auth_config: config, registry_hosts } = runConfig;
    const serverUrl = await urlOf(runConfig, readSecret);
    const { openRemoteAuth } = await import('./remote-auth.ts'); // only for those who have remote servers
    return openRemoteAuth({
      serverUrl,
      config: config ?? undefined,
      registryHosts: registry_hosts,
      network,
      clientDocument,
      store: signIns.of({ id, name }),
      resolveSecret: (key) => readSecret(name, key),
      async openBrowser(url) {
        await openBrowser(url);
      },
      onChange,
    });
  };
}

/** The URL of a remote server, with the values of the secrets in it. */
async function urlOf(
  { name, remote_url: url = '', secrets }: RunConfig,
  readSecret: RemoteOpenerOptions['readSecret'],
): Promise<string> {
  const places = secretPlacesIn(url);
  const values: Record<string, string> = {};
  for (const reference of (secrets ?? []).map(parseReference)) {
    if (places.includes(reference.target)) values[reference.target] = await readSecret(name, reference.name);
  }
  return withSecretValues(url, values);
}

export interface UnkeptRemoteOptions {
  url: string;
  config: RemoteAuthConfig;
  callersAuthenticate?: boolean;
  /** The secret of the OAuth client in `config`, itself. */
  clientSecret?: string | undefined;
  /** Told where the user can sign in. */
  onSignIn: (url: string) => void;
  /** Called when a sign-in is missing and no caller waits for it. */
  onNotSignedIn: (error: unknown) => void;
  /** The user's next step if the sign-in is missing. */
  hint: string;
  /** Ends everything that waits. */
  signal: AbortSignal;
}

/** A remote server without a workload. */
export interface UnkeptRemote extends AsyncDisposable {
  server: RemoteServer;
  /** Starts a sign-in, even if the server does not require it. */
  signIn: () => Promise<void>;
  /** From now on no request waits until the user has signed in. */
  settle: () => void;
}

/** Gets ready to use a remote server without the daemon. Tokens are kept in memory only. */
export async function openUnkeptRemote(options: UnkeptRemoteOptions): Promise<UnkeptRemote> {
  const {
    url,
    config,
    callersAuthenticate = false,
    clientSecret,
    onSignIn,
    onNotSignedIn,
    hint,
    signal,
  } = options;
  const client_secret =
    clientSecret === undefined ? undefined : formatReference({ name: 'client', target: 'client' });
  let shown: string | undefined;
  const { openRemoteAuth } = await import('./remote-auth.ts');
  const auth = await openRemoteAuth({
    serverUrl: url,
    config: { ...config, client_secret },
    store: new TokenStore(undefined, () => undefined),
    resolveSecret: async () => clientSecret ?? '',
    async openBrowser(page) {
      await openInBrowser(page);
    },
    onChange(state) {
      const page = state.kind === 'needs authorization' ? state.url : undefined;
      if (page !== undefined && page !== shown) onSignIn(page);
      shown = page;
    },
  });
  let isPatient = true;
  return {
    server: remoteServer({
      url,
      auth,
      isPatient: () => isPatient,
      onNotSignedIn,
      hint,
      pace: new SignInPace(),
      callersAuthenticate,
      signal,
    }),
    signIn: () => auth.authorize(signal),
    settle: () => (isPatient = false),
    [Symbol.asyncDispose]: () => auth[Symbol.asyncDispose](),
  };
}

async function openInBrowser(url: string): Promise<void> {
  const { default: open } = await import('open');
  await open(url);
}
