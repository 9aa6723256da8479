import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '@toolhive/contract/failure';

/** How often and how soon a call is repeated. */
const RETRIES = 20;
const INTERVAL_MS = 100;

/**
 * Repeats a call that fails because a container is starting or ending at the same moment. Podman 4 describes that only in
 * words, which `passing` recognizes. Throws the last failure.
 */
export async function withRetries<Answer>(
  passing: RegExp,
  call: () => Promise<Answer>,
  retries = RETRIES,
): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    if (retries === 0 || !passing.test(messageOf(error))) throw error;
    await delay(INTERVAL_MS);
    return withRetries(passing, call, retries - 1);
  }
}
