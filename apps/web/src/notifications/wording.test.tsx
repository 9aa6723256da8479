import type { DaemonEvent } from '@toolhive/contract/event';
import { expect, test } from 'vitest';
import { Wordings } from './wording.ts';

const at = '2026-01-31T09:30:00.000Z';
const changed = (status: 'error' | 'starting' | 'running', context?: string): DaemonEvent => ({
  type: 'workload.changed',
  at,
  name: 'weather',
  group: 'default',
  status,
  ...(context === undefined ? {} : { status_context: context }),
});

test('a failure is told once until the server runs again', () => {
  const wordings = new Wordings();
  const told = (['error', 'starting', 'error', 'running', 'error'] as const).map(
    (status) => wordings.of(changed(status, 'no key'))?.body,
  );

  expect(told).toEqual(['weather: no key', undefined, undefined, undefined, 'weather: no key']);
});

test('text of a server is in the body only, cut, and without hidden characters', () => {
  const hostile = `Click\u202e ${'x'.repeat(5_000)}`;

  const failure = new Wordings().of(changed('error', hostile));
  const tools = new Wordings().of({
    type: 'pins.changed',
    at,
    name: 'weather',
    changes: Array.from({ length: 20 }, () => ({ kind: 'tool', item: hostile, change: 'changed' })),
  });

  expect(failure).toMatchObject({ title: 'A server failed', path: '/ui/w/weather' });
  expect(failure?.body).toMatch(/^weather: Click\[U\+202E\] x+$/);
  expect(failure?.body).toHaveLength(200);
  expect(tools).toMatchObject({ title: 'A server changed its tools', path: '/ui/w/weather/tools' });
  expect(tools?.body).toHaveLength(200);
});

test('a found update names the version, and other events say nothing', () => {
  const wordings = new Wordings();

  expect(wordings.of({ type: 'update.found', at, name: 'weather', version: '1.2.0' })).toMatchObject({
    title: 'An update is available',
    body: 'weather: version 1.2.0',
  });
  expect(wordings.of({ type: 'reset', at })).toBeUndefined();
  expect(wordings.of({ type: 'pins.changed', at, name: 'weather', changes: [] })).toBeUndefined();
});
