import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ReadingTime } from './reading-time.ts';

let nowMs: number;
let time: ReadingTime;
/** The steps that were performed, and when. */
let performed: [name: string, atMs: number][];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setImmediate', 'setTimeout'] });
  nowMs = 0;
  performed = [];
  time = new ReadingTime(() => nowMs);
});
afterEach(() => void vi.useRealTimers());

const [heavy, light] = [{}, {}];

/** Processes an input that takes a while. */
function read(workload: object, name: string, durationMs: number): void {
  time.run(workload, () => {
    performed.push([name, nowMs]);
    nowMs += durationMs;
    return false;
  });
}

/** Lets the event loop turn for a while. */
function turn(durationMs: number): void {
  for (let ms = 0; ms < durationMs; ms++) {
    vi.advanceTimersByTime(1);
    nowMs += 1;
  }
}

test('a workload with a long step rests while another one is active', () => {
  read(light, 'light', 0);
  read(heavy, 'heavy 1', 10);
  read(heavy, 'heavy 2', 10);
  read(light, 'light again', 0);
  turn(1);
  const atOnce = performed.map(([name]) => name);
  turn(30);

  expect(atOnce).toEqual(['light', 'heavy 1', 'light again']);
  expect(performed.at(-1)).toEqual(['heavy 2', expect.toSatisfy((atMs: number) => atMs >= 10 + 20)]);
});

test('a workload that is alone does not rest', () => {
  read(light, 'light', 0);
  turn(2_000);
  read(heavy, 'heavy 1', 10);
  turn(2_000);
  performed = [];
  const startedMs = nowMs;

  read(heavy, 'heavy 2', 10);
  read(heavy, 'heavy 3', 10);
  turn(2);

  expect(performed).toEqual([
    ['heavy 2', startedMs],
    ['heavy 3', expect.toSatisfy((atMs: number) => atMs <= startedMs + 12)],
  ]);
});

test('what rests is processed in its order, and none of it is lost', () => {
  read(light, 'light', 0);
  read(heavy, 'heavy 1', 10);
  for (const number of [2, 3, 4]) read(heavy, `heavy ${number}`, 0);
  turn(100);

  expect(performed.map(([name]) => name)).toEqual(['light', 'heavy 1', 'heavy 2', 'heavy 3', 'heavy 4']);
});

test('the longest step makes a workload rest for half a second at most', () => {
  read(light, 'light', 0);
  read(heavy, 'heavy 1', 5_000);
  const endedMs = nowMs;
  read(heavy, 'heavy 2', 0);
  turn(600);

  expect(performed.at(-1)).toEqual(['heavy 2', expect.toSatisfy((atMs: number) => atMs <= endedMs + 501)]);
});

test('an input with several parts shares a turn with others', () => {
  let parts = 6;
  time.run(heavy, (isOver) => {
    do {
      performed.push(['heavy', nowMs]);
      nowMs += 1;
      parts -= 1;
    } while (parts > 0 && !isOver());
    return parts > 0;
  });
  read(light, 'light', 0);
  turn(20);

  const names = performed.map(([name]) => name);
  expect(names.indexOf('light')).toBe(4); // after the quantum that had begun, and the next one
  expect(names).toHaveLength(7);
});

test('a step that waits keeps its asynchronous context', () => {
  const context = new AsyncLocalStorage<string>();
  const contexts: unknown[] = [];
  let parts = 0;
  const long = (): boolean => {
    contexts.push(context.getStore());
    nowMs += 5;
    return (parts += 1) < 3;
  };
  context.run('heavy', () => time.run(heavy, long));
  context.run('light', () => {
    time.run(light, () => {
      contexts.push(context.getStore());
      return false;
    });
  });

  turn(100);

  expect(contexts).toHaveLength(4);
  expect(contexts.filter((each) => each === 'light')).toHaveLength(1);
  expect(contexts.filter((each) => each === 'heavy')).toHaveLength(3);
});
