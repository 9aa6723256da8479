import { client } from './client.ts';

/** Why the page could not sign in with the code of its address. */
export let signInFailure: unknown;

/**
 * Exchanges the one-time code of the address, which `thv ui` puts behind the `#`, for a session cookie. Removes the
 * code from the address first, so that neither the history nor a copied link contains it.
 */
export async function signIn(): Promise<void> {
  const [, code] = /^#code=([\w-]+)$/.exec(location.hash) ?? [];
  if (code === undefined) return;
  history.replaceState(null, '', location.pathname + location.search);
  try {
    await client.createUiSession({ body: { code } });
  } catch (thrown) {
    signInFailure = thrown;
  }
}
