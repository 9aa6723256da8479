import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { freePort, isFreePort } from './free-port.ts';

test('a free port is one that nobody has claimed, and that the system gives to no connection that goes out', async () => {
  const asked: number[] = [];

  const port = await freePort('127.0.0.1', (candidate) => asked.push(candidate) > 1);

  const range = await readFile('/proc/sys/net/ipv4/ip_local_port_range', 'utf8');
  expect(asked).toContain(port);
  expect(port).not.toBe(asked[0]);
  expect(Math.max(...asked)).toBeLessThan(Number.parseInt(range, 10));
});

test('a port that somebody listens on is not free, and an address of another machine is refused', async () => {
  const port = await freePort();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));

  const free = await isFreePort('127.0.0.1', port);

  await new Promise((resolve) => server.close(resolve));
  expect(free).toBe(false);
  expect(await isFreePort('127.0.0.1', port)).toBe(true);
  await expect(isFreePort('192.0.2.1', port)).rejects.toThrow(
    '"192.0.2.1" is not an address of this machine',
  );
});

test('no port is one that browsers and fetch refuse', async () => {
  const asked = new Set<number>();
  const note = (port: number): boolean => {
    asked.add(port);
    return false;
  };

  for (let search = 0; search < 3_000; search++) await freePort('127.0.0.1', note).catch(() => {});

  expect(asked.size).toBeGreaterThan(20_000);
  expect(asked.has(10_080)).toBe(false);
});
