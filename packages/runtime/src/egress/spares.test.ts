import { expect, test, vi } from 'vitest';
import { Spares } from './spares.ts';

test('the next network is made after the first was taken, and used once', async () => {
  const spares = new Spares<number>();
  const make = vi.fn(async () => make.mock.calls.length);

  const first = await spares.take([443], make);
  await vi.waitFor(() => expect(make).toHaveBeenCalledTimes(2));
  const [second, third] = await Promise.all([spares.take([443], make), spares.take([443], make)]);

  expect(first).toBe(1);
  expect([second, third].toSorted((one, other) => one - other)).toEqual([2, 3]);
});

test('a network with an unusual port is made for it, with that port', async () => {
  const make = vi.fn(async (ports: readonly number[]) => ports);

  expect(await new Spares<readonly number[]>().take([9999], make)).toEqual([9999]);
});

test('a spare that cannot be used any more is passed on to be closed', async () => {
  const spares = new Spares<number>();
  const make = vi.fn(async () => make.mock.calls.length);
  const rules = { isUsable: (spare: number) => spare !== 2, drop: vi.fn() };
  await spares.take([443], make, rules);
  await vi.waitFor(() => expect(make).toHaveBeenCalledTimes(2));

  expect(await spares.take([443], make, rules)).toBe(3);
  expect(rules.drop).toHaveBeenCalledExactlyOnceWith(2);
});

test('a spare that could not be made does not make a start fail', async () => {
  const spares = new Spares<number>();
  const make = vi.fn(async () => {
    if (make.mock.calls.length === 2) throw new Error('no room');
    return make.mock.calls.length;
  });
  await spares.take([443], make);
  await vi.waitFor(() => expect(make).toHaveBeenCalledTimes(2));

  expect(await spares.take([443], make)).toBe(3);
});
