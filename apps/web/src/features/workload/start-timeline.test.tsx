import type { LogRecord } from '@toolhive/contract/log-record';
import { expect, test } from 'vitest';
import { attemptsIn } from './start-timeline.tsx';

const note = (
  minute: number,
  msg: string,
  ms?: number,
  stream: LogRecord['stream'] = 'proxy',
): LogRecord => ({
  at: `2026-01-31T09:${String(minute).padStart(2, '0')}:00.000Z`,
  stream,
  level: 'info',
  text: JSON.stringify({ msg, ms }),
  line: minute,
});

test('the attempts are those since the last answer, and what a server writes is none', () => {
  const attempts = attemptsIn([
    note(1, 'workload failed'),
    note(2, 'workload runs', 1_200),
    note(3, 'workload failed', undefined, 'stderr'),
    note(4, 'workload failed'),
    note(5, 'request'),
    note(6, 'workload failed'),
    note(7, 'workload runs', 300),
  ]);

  expect(attempts.map(({ ms }) => ms)).toEqual([undefined, undefined, 300]);
  expect(attemptsIn([note(1, 'workload failed'), note(2, 'workload runs', 40)]).map(({ ms }) => ms)).toEqual([
    undefined,
    40,
  ]);
});

test('an attempt is only what ToolHive itself notes, not a reason that quotes its words', () => {
  const quoted = note(1, 'denied');
  quoted.text = JSON.stringify({ msg: 'denied', reason: 'it said "msg":"workload runs","ms":1' });

  expect(attemptsIn([quoted])).toEqual([]);
});
