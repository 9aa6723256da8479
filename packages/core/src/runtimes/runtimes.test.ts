import { expect, test, vi } from 'vitest';
import { openMemoryRuntime } from '@toolhive/runtime/memory';
import type { Runtime } from '@toolhive/runtime/runtime';
import { Runtimes } from './runtimes.ts';

const memory = openMemoryRuntime(new Map());

/** A runtime whose inspection of the machine never ends. */
function unanswered(sweep: Runtime['sweep']): Runtime {
  return { ...memory, check: () => new Promise(() => {}), sweep };
}

test('leftovers are removed without an inspection of the machine, in one runtime despite another', async () => {
  const failed: string[] = [];
  const swept = vi.fn<Runtime['sweep']>(async () => {});
  const broken = unanswered(() => Promise.reject(new Error('no permission')));
  const runtimes = new Runtimes([broken, unanswered(swept)], undefined);

  await runtimes.sweep((runtime) => failed.push(runtime));

  expect(swept).toHaveBeenCalledOnce();
  expect(failed).toEqual(['memory']);
});

test('an inspection that fails in advance fails only for those who need it', async () => {
  const check = vi.fn<Runtime['check']>(() => Promise.reject(new Error('no processes left')));
  const runtimes = new Runtimes([{ ...memory, check }], undefined);

  runtimes.prepare();

  await expect(runtimes.choose()).rejects.toThrow('no processes left');
  expect(check).toHaveBeenCalledTimes(2);
});
