import type { RunConfig } from '@toolhive/contract/run-config';
import open from 'open';
import type { Secrets } from '../secrets/secrets.ts';
import { TokenStore } from './kept.ts';
import { openRemoteAuth } from './remote-auth.ts';
import type { RemoteAuth, RemoteAuthState } from './remote-auth.ts';

/** Gets ready to talk to the remote server of a workload. Contacts nobody yet. */
export type OpenRemote = (
  runConfig: RunConfig,
  onChange: (state: RemoteAuthState) => void,
) => Promise<RemoteAuth>;

/** How this hive does that: with its own secrets, and the browser of its user. */
export function remoteOpener(
  secrets: Secrets,
  openBrowser: (url: string) => Promise<unknown> = (url) => open(url),
): OpenRemote {
  return async ({ name, remote_url: serverUrl = '', remote_auth_config: config }, onChange) =>
    openRemoteAuth({
      serverUrl,
      config: config ?? undefined,
      store: tokenStore(secrets, name),
      resolveSecret: (key) => secrets.resolve({ name: key, target: '' }),
      async openBrowser(url) {
        await openBrowser(url);
      },
      onChange,
    });
}

/** Forgets how a workload that is no more was let in. */
export async function forgetRemote(secrets: Secrets, workload: string): Promise<void> {
  await tokenStore(secrets, workload).remove();
}

function tokenStore(secrets: Secrets, workload: string): TokenStore {
  return new TokenStore(workload, () => secrets.vault);
}
