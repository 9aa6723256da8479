import { expect, test } from 'vitest';
import { Latest } from './latest.ts';

function aTask() {
  const runs: PromiseWithResolvers<void>[] = [];
  const latest = new Latest(() => {
    const run = Promise.withResolvers<void>();
    runs.push(run);
    return run.promise;
  });
  return { runs, latest };
}
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('shares one further run among all who ask during a run', async () => {
  const { runs, latest } = aTask();
  const done: string[] = [];
  const request = async (name: string): Promise<void> => {
    await latest.request();
    done.push(name);
  };
  const all = [request('first')];
  await settle();
  all.push(request('second'), request('third'));
  await settle();
  expect(runs).toHaveLength(1);

  runs[0]?.resolve();
  await settle();
  expect(done).toEqual(['first']);
  expect(runs).toHaveLength(2);
  runs[1]?.resolve();
  await Promise.all(all);

  expect(done).toEqual(['first', 'second', 'third']);
});

test('continues after a failure, which only the waiting callers get', async () => {
  const { runs, latest } = aTask();
  const first = latest.request();
  await settle();
  const second = latest.request();

  runs[0]?.reject(new Error('no'));
  await expect(first).rejects.toThrow('no');
  await settle();
  runs[1]?.resolve();

  await expect(second).resolves.toBeUndefined();
});
