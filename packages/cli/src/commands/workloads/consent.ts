import { ThvError } from '@toolhive/contract/failure';
import { risksIn } from '@toolhive/contract/risk';
import type { Risk } from '@toolhive/contract/risk';
import type { Out } from '../../out.ts';
import { canAsk, confirm } from '../../prompt.ts';

/**
 * Sends a request. If it needs consent to dangerous access, shows the access in a terminal, and sends the request
 * again after the user has agreed.
 */
export async function withConsent<Body extends object>(
  body: Body,
  { out, signal }: { out: Out; signal: AbortSignal },
  attempt: (body: Body) => Promise<string>,
): Promise<string> {
  const accepted: Risk[] = 'accepted_risks' in body ? (body.accepted_risks as Risk[]) : []; // set by `requestFrom`
  try {
    // Also if the list is empty: without it, the daemon would leave out the access instead of asking for consent.
    return await attempt({ ...body, accepted_risks: accepted });
  } catch (thrown) {
    const required = thrown instanceof ThvError ? risksIn(thrown.message) : [];
    if (!(thrown instanceof ThvError) || required.length === 0 || !canAsk()) throw thrown;
    out.note('The server asks for dangerous access:');
    const [, dangers = ''] = /: (.*)$/s.exec(thrown.message) ?? [];
    for (const danger of dangers.split('; ')) out.note(`- ${danger}`);
    await confirm('Give the server this access?', { signal });
    return attempt({ ...body, accepted_risks: [...accepted, ...required] });
  }
}
