import { type ThvError, unavailable } from '@toolhive/contract/failure';

/** The failures after which another attempt can succeed. */
const transient = new WeakSet<Error>();

/** In the words of Node.js, npm, uv, and git: an answer that took too long or broke off, and errors of servers. */
const passing =
  /timed? ?out|timeout|ETIMEDOUT|ECONNRESET|EAI_AGAIN|connection (?:reset|closed|was closed)|socket hang up|unexpected (?:eof|end of file)|broken pipe|incomplete message|early eof|\bE?50[0234]\b/i;

/** A package registry that cannot be reached, or a repository. `said` is everything that the tool said. */
export function registryFailure(
  {
    place = 'the package registry',
    reason,
    said = reason,
  }: { place?: string; reason: string; said?: string },
  { check, timeouts }: { check: string; timeouts: string },
): ThvError {
  const isLate = /timed? ?out|timeout|ETIMEDOUT/i.test(said);
  const failure = unavailable(`cannot reach ${place}: ${reason}`, {
    hint: isLate ? `if the network is slow, raise ${timeouts} in the environment of the daemon` : check,
  });
  if (passing.test(said)) transient.add(failure);
  return failure;
}

export const isTransient = (error: unknown): error is ThvError =>
  error instanceof Error && transient.has(error);
