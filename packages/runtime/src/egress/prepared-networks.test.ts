import { expect, test } from 'vitest';
import { waitFor } from '../testing/conformance.ts';
import { PreparedNetworks } from './prepared-networks.ts';

/** Makes networks that are numbers: 1, 2, and so on. */
class Maker {
  made = 0;
  ports: (readonly number[])[] = [];
  broken = 0;

  readonly make = async (ports: readonly number[]): Promise<number> => {
    this.made += 1;
    this.ports.push(ports);
    if (this.made === this.broken) throw new Error('no room');
    return this.made;
  };
}

test('the next network is made after the first was taken, and used once', async () => {
  const [networks, maker] = [new PreparedNetworks<number>(), new Maker()];

  const first = await networks.take([443], maker.make);
  await waitFor(() => maker.made === 2);
  const later = await Promise.all([networks.take([443], maker.make), networks.take([443], maker.make)]);

  expect(first).toBe(1);
  expect(later.toSorted((one, other) => one - other)).toEqual([2, 3]);
});

test('as many are kept as are wanted, and each is used once', async () => {
  const [networks, maker] = [new PreparedNetworks<number>(2), new Maker()];
  expect([networks.offer(10), networks.offer(11), networks.offer(12)]).toEqual([true, true, false]);

  const taken = [await networks.take([443], maker.make), await networks.take([443], maker.make)];
  await waitFor(() => maker.made === 2);

  expect(taken).toEqual([10, 11]);
  expect(networks.offer(13)).toBe(false);
  expect([await networks.take([443], maker.make), await networks.take([443], maker.make)]).toEqual([1, 2]);
});

test('a network with an unusual port is made for it, with that port', async () => {
  const maker = new Maker();
  await new PreparedNetworks<number>().take([9999], maker.make);

  expect(maker.ports).toEqual([[9999]]);
});

test('a prepared network that cannot be used any more is passed on to be closed', async () => {
  const [networks, maker] = [new PreparedNetworks<number>(), new Maker()];
  const dropped: number[] = [];
  const rules = {
    isUsable: (network: number) => network !== 2,
    drop: (network: number) => void dropped.push(network),
  };
  await networks.take([443], maker.make, rules);
  await waitFor(() => maker.made === 2);

  expect(await networks.take([443], maker.make, rules)).toBe(3);
  expect(dropped).toEqual([2]);
});

test('a prepared network that could not be made does not make a start fail', async () => {
  const [networks, maker] = [new PreparedNetworks<number>(), new Maker()];
  maker.broken = 2;
  await networks.take([443], maker.make);
  await waitFor(() => maker.made === 2);

  expect(await networks.take([443], maker.make)).toBe(3);
});

test('a network that was offered is the next one, and a second offer is refused', async () => {
  const [networks, maker] = [new PreparedNetworks<number>(), new Maker()];

  expect([networks.offer(10), networks.offer(11)]).toEqual([true, false]);
  expect(await networks.take([443], maker.make)).toBe(10);
  await waitFor(() => maker.made === 1);
  expect(networks.offer(12)).toBe(false);
});
