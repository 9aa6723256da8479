/**
 * How long an answer asks to wait, in milliseconds (RFC 9110, section 10.2.3: seconds or a date). Undefined without a
 * readable value.
 */
export function retryAfterMs(
  value: string | readonly string[] | undefined,
  nowMs: number,
): number | undefined {
  const text = ([value].flat()[0] ?? '').trim();
  if (/^\d{1,9}(?:\.\d{1,9})?$/.test(text)) return Number(text) * 1000;
  // `Date.parse` also reads numbers with a sign as years.
  const dateMs = /^[A-Za-z]{3,9}, /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(dateMs) ? undefined : Math.max(dateMs - nowMs, 0);
}
