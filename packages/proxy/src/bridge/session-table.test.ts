import { expect, test } from 'vitest';
import { MessagePipeline } from '../middleware/message-pipeline.ts';
import { SessionTable } from './session-table.ts';

const hourMs = 3_600_000;
const principal = { id: 'ada' };

function openTable() {
  const clock = { nowMs: Date.parse('2026-01-31T09:00:00Z'), elapsedMs: 0 };
  const table = new SessionTable({
    workload: 'math',
    messages: new MessagePipeline([], () => {}),
    maxSessions: 10,
    sessionIdleMs: 2 * hourMs,
    ownIdleMs: hourMs / 4,
    now: () => clock.nowMs,
    elapsed: () => clock.elapsedMs,
    onKept: () => {},
    onAdopted: () => {},
    onClosed: () => {},
  });
  const session = table.begin(principal);
  table.keep(session);
  return { clock, table, session };
}

test.each([24 * hourMs, -24 * hourMs])(
  'a session is as silent as before when the clock is set by %i ms',
  (ms) => {
    const { clock, table, session } = openTable();
    clock.elapsedMs += hourMs;
    clock.nowMs += ms;

    table.maintain();
    const afterAnHour = table.find(session.id, principal);
    clock.elapsedMs += 3 * hourMs;
    table.maintain();

    expect(afterAnHour).toBe(session);
    expect(session.lastSeenMs).toBe(clock.nowMs);
    expect(table.find(session.id, principal)).toBeUndefined();
  },
);
