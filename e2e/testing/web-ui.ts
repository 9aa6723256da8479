import type { User } from './thv.ts';

/** Opens the web UI of a user, and returns the status of its page and of the script that the page names. */
export async function webUiOf(user: User): Promise<number[]> {
  const { origin } = new URL((await user.mustThv('ui', '--no-browser')).trim());
  const page = await fetch(`${origin}/ui/`);
  const [, script = ''] = /<script[^>]* src="([^"]+)"/.exec(await page.text()) ?? [];
  return [page.status, (await fetch(new URL(script, origin))).status];
}
