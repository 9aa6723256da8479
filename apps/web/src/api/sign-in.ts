import { client } from './client.ts';

/** Why the page could not sign in with the code of its address. */
export let signInFailure: unknown;

/** Tells other tabs that the browser has signed in, which holds for them, too. */
const tabs = new BroadcastChannel('toolhive-sign-in');

/**
 * Exchanges the one-time code of the address, which `thv ui` puts behind the `#`, for a session cookie. Removes the
 * code from the address first, so that neither the history nor a copied link contains it.
 */
export async function signIn(): Promise<void> {
  const code = codeIn(location.hash);
  if (code === undefined) return;
  history.replaceState(null, '', location.pathname + location.search);
  try {
    await signInWith(code);
  } catch (thrown) {
    signInFailure = thrown;
  }
}

/** Signs in with a one-time code. Throws if the code was used or is too old. */
export async function signInWith(code: string): Promise<void> {
  await client.createUiSession({ body: { code } });
  tabs.postMessage('signed in');
}

/** Calls back when another tab has signed in. Returns how to stop. */
export function onSignInElsewhere(listener: () => void): () => void {
  tabs.addEventListener('message', listener);
  return () => tabs.removeEventListener('message', listener);
}

/** Returns the code in an address or a text. */
export function codeIn(text: string): string | undefined {
  return /(?:#code=|^\s*)([\w-]{8,})\s*$/.exec(text)?.[1];
}
