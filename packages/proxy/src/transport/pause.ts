import { retryAfterMs } from '@toolhive/contract/retry-after';
import type { Answer } from './answer.ts';

/** The longest wait that a client does not notice as a fault. A server that asks for more is believed. */
const maxPauseMs = 10_000;
/** The pauses before further attempts if the server names no time. Their number limits the attempts. */
const unnamedMs = [1_000, 4_000];

/**
 * How long to wait before a request is sent again, if repeating is safe: 429 says that the server has not executed the
 * request, and 503 says so only together with a time. Behind 503, a request that `executes` something may have run.
 */
export function pauseBefore(
  { statusCode, headers }: Answer,
  { attempt, executes, nowMs }: { attempt: number; executes: boolean; nowMs: number },
): number | undefined {
  const namedMs = retryAfterMs(headers['retry-after'], nowMs);
  const isSafe = statusCode === 429 || (statusCode === 503 && namedMs !== undefined && !executes);
  if (!isSafe || attempt >= unnamedMs.length) return undefined;
  const pauseMs = namedMs ?? unnamedMs[attempt] ?? maxPauseMs;
  return pauseMs <= maxPauseMs ? pauseMs : undefined;
}

/** How long a server that refuses a request asks to wait. */
export function askedPauseMs({
  statusCode,
  headers,
}: Pick<Answer, 'statusCode' | 'headers'>): number | undefined {
  const isBusy = statusCode === 429 || statusCode === 503;
  return isBusy ? retryAfterMs(headers['retry-after'], Date.now()) : undefined;
}
