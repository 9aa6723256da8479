import { ThvError } from '@toolhive/contract/failure';
import { profileRequired } from '@toolhive/contract/permission-profile';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { ask, canAsk } from '../../prompt.ts';
import { readProfile } from './request.ts';

/** Sends a request. If the user must choose a permission profile, asks in a terminal and sends the request again. */
export async function withChosenProfile(
  request: CreateWorkload,
  signal: AbortSignal,
  attempt: (request: CreateWorkload) => Promise<string>,
): Promise<string> {
  try {
    return await attempt(request);
  } catch (thrown) {
    const isAsked = thrown instanceof ThvError && thrown.message.startsWith(profileRequired);
    if (!isAsked || !canAsk()) throw thrown;
    const question =
      'Which network access? public (public hosts on ports 80 and 443), none, or the path of a permission profile:';
    const answer = (await ask(question, { signal })).trim();
    if (answer === '') throw thrown;
    const profile = await readProfile(answer);
    return attempt({ ...request, permission_profile: profile as CreateWorkload['permission_profile'] }); // the daemon validates the value
  }
}
