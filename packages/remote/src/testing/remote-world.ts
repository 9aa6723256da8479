import { EncryptedSecrets } from '@toolhive/secrets/encrypted';
import type { Vault } from '@toolhive/secrets/encrypted';
import { cheapCost, memoryKeyring } from '@toolhive/secrets/testing/keyrings';
import { newWorkloadId } from '@toolhive/state/workload-id';
import { TokenStore } from '../kept.ts';
import { openRemoteAuth } from '../remote-auth.ts';
import type { RemoteAuthState } from '../auth-status.ts';
import type { RemoteAuthOptions } from '../remote-auth.ts';
import type { RemoteAuthConfig } from '../settings.ts';
import { openAuthorizationServer } from './authorization-server.ts';
import type { AuthorizationServerChanges } from './authorization-server.ts';
import { openProtectedServer } from './protected-server.ts';
import type { ProtectedServerChanges } from './protected-server.ts';

/** The workload of the remote server. */
export const notes = { id: newWorkloadId(), name: 'notes' };

export interface WorldChanges {
  authority?: AuthorizationServerChanges;
  server?: ProtectedServerChanges;
  config?: RemoteAuthConfig;
  options?: Partial<RemoteAuthOptions>;
  vault?: Vault;
}

/** A remote server, who gives tokens for it, a user who agrees to everything, and a clock that stands still. */
export async function openWorld({ authority, server, config, options, vault }: WorldChanges = {}) {
  await using stack = new AsyncDisposableStack();
  const authorization = stack.use(await openAuthorizationServer(authority));
  const remote = stack.use(await openProtectedServer(authorization, server));
  const clock = { ms: 1_700_000_000_000 };
  const states: RemoteAuthState[] = [];
  const pages: { status: number; headers: Headers; body: string }[] = [];
  const visits: Promise<unknown>[] = [];
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => {}); // whoever waits is told; nobody may
  const browser = {
    /** Goes where the page of the authorization server sends it, and reads what stands there. */
    open(url: string): Promise<void> {
      const visit = browser.visit(url);
      visits.push(visit.catch(lost.reject));
      return visit;
    },
    async visit(url: string): Promise<void> {
      const agreed = await fetch(url, { redirect: 'manual' });
      const back = agreed.headers.get('location');
      if (back !== null) await browser.comeBack(back);
    },
    async comeBack(url: string) {
      const answer = await fetch(url);
      const page = { status: answer.status, headers: answer.headers, body: await answer.text() };
      pages.push(page);
      return page;
    },
  };
  const secrets: Record<string, string> = {};
  const open = (more: Partial<RemoteAuthOptions> = {}) =>
    openRemoteAuth({
      serverUrl: remote.url,
      config,
      store: new TokenStore(notes, () => vault),
      resolveSecret: async (name) => secrets[name] ?? '',
      openBrowser: (url) => browser.open(url),
      onChange: (state) => states.push(state),
      now: () => clock.ms,
      ...options,
      ...more,
    });
  const auth = stack.use(await open());
  const opened = stack.move();
  return {
    auth,
    /** As the next daemon does. */
    open,
    authority: authorization,
    remote,
    clock,
    states,
    /** What the user has read in the browser. */
    async pages() {
      await Promise.all(visits);
      return pages;
    },
    browser,
    /** Signs in, or fails when the browser does not come back: then nobody would agree. */
    signIn: () => Promise.race([auth.authorize(), lost.promise]),
    secrets,
    /** Asks the remote server something, as the proxy does; tells its status. */
    async ask(headers?: Record<string, string>): Promise<number> {
      const answer = await fetch(remote.url, { method: 'POST', headers: headers ?? (await auth.headers()) });
      await answer.body?.cancel();
      return answer.status;
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

export type World = Awaited<ReturnType<typeof openWorld>>;

/** An encrypted file in a directory, open. */
export async function openVault(directory: string): Promise<Vault> {
  const secrets = new EncryptedSecrets({
    path: `${directory}/secrets_encrypted`,
    env: {},
    keyring: memoryKeyring(),
    cost: cheapCost,
  });
  await secrets.setup();
  return secrets.vault;
}
