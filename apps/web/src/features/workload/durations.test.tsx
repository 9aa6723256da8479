import type { TrafficEntry } from '@toolhive/contract/traffic';
import { expect, test } from 'vitest';
import { render } from 'vitest-browser-react';
import { Durations } from './durations.tsx';

const entry = (ms: number | undefined): TrafficEntry => ({ duration_ms: ms }) as TrafficEntry; // the rest is not drawn

test('the picture of durations says how many calls took how long', async () => {
  const screen = await render(<Durations entries={[0.4, 1, 1.9, 450, 60_000, undefined].map(entry)} />);

  await expect
    .element(screen.getByRole('img'))
    .toHaveAccessibleName(
      'Durations. under 1.0 ms: 1 call, 1.0 ms to 2.0 ms: 2 calls, 200 ms to 500 ms: 1 call, 10.0 s or more: 1 call',
    );
});

test('nothing is drawn for less than two calls', async () => {
  const screen = await render(<Durations entries={[entry(5), entry(undefined)]} />);

  expect(screen.container.textContent).toBe('');
});
