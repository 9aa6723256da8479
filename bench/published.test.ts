import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { expect, test } from 'vitest';
import { loadOfOthers, maxLoad, published } from './published.ts';

test('a program that keeps a processor busy is seen', async () => {
  const busy = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
  try {
    await expect.poll(loadOfOthers, { timeout: 30_000 }).toBeGreaterThan(maxLoad);
  } finally {
    busy.kill('SIGKILL');
  }
});

test('a published figure has its comparison, its machine, its load, and its date', () => {
  const figure = {
    what: 'calls',
    unit: 'a second',
    ours: 80,
    reference: 100,
    comparison: 'share of rate',
    budget: 0.9,
  } as const;

  expect(published({ title: 'Bridge', references: 'a bare server' }, [figure], 0.123)).toEqual({
    title: 'Bridge',
    references: 'a bare server',
    measuredOn: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) as string,
    machine: { node: process.version, processor: expect.any(String) as string, processors: cpus().length },
    load: 0.12,
    figures: [{ ...figure, compared: '80 %', limit: 'at least 90 %', holds: false }],
  });
});

test('no published figure was measured beside other work', async () => {
  const text = await readFile(new URL('data/published.json', import.meta.url), 'utf8');
  const loads = Object.values(JSON.parse(text) as Record<string, { load: number }>).map(({ load }) => load);

  expect(loads.filter((load) => load > maxLoad)).toEqual([]);
});
