import { describe, expect, test } from 'vitest';
import { millisecondsOf } from './duration.ts';
import { withinLimit } from './wait.ts';

const forever = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

describe('work within a limit', () => {
  const late = (): Error => new Error('too late');

  test('is told when the time is over, and fails as its caller says', async () => {
    const work = withinLimit(16.5, new AbortController().signal, forever, late);

    await expect(work).rejects.toThrow('too late');
  });

  test('fails when another program ends it', async () => {
    const stop = new AbortController();
    const work = withinLimit(60_000, stop.signal, forever, late);

    stop.abort(new Error('stopped'));

    await expect(work).rejects.toThrow('stopped');
  });

  test('has all the time that a timer can count, however long the limit is', async () => {
    const work = withinLimit(Number.MAX_SAFE_INTEGER, new AbortController().signal, isOver, late);

    expect(await work).toBe(false);
  });
});

/** Whether the time was over at once. */
async function isOver(signal: AbortSignal): Promise<boolean> {
  await new Promise((resolve) => setTimeout(resolve, 20));
  return signal.aborted;
}

test.each([
  ['16.1s', 16_100],
  ['1.1h', 3_960_000],
  ['1m30s', 90_000],
  ['0', 0],
  ['30', undefined],
])('%s is %s milliseconds', (text, milliseconds) => {
  expect(millisecondsOf(text)).toBe(milliseconds);
});
