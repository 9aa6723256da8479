/**
 * Whether a moment is less than a duration ago. The system clock can be set back, so a moment in the future counts as long
 * ago. Otherwise a pause of seconds lasts until the clock has caught up.
 */
export function isRecent(atMs: number, durationMs: number, nowMs: number): boolean {
  return atMs <= nowMs && nowMs - atMs < durationMs;
}

/** Whether a moment is still ahead. One that is further away than the duration was set by a clock that was set back since. */
export function isAhead(untilMs: number, durationMs: number, nowMs: number): boolean {
  return nowMs < untilMs && untilMs - nowMs <= durationMs;
}
