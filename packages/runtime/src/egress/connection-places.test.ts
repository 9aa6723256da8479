import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { TestEgress } from '../testing/test-egress.ts';
import { ConnectionPlaces } from './connection-places.ts';
import { EgressGateway } from './gateway.ts';

let resources: AsyncDisposableStack;
/** The names whose addresses connections wait for. */
let waiting: string[];

beforeEach(() => {
  resources = new AsyncDisposableStack();
  waiting = [];
});
afterEach(() => resources.disposeAsync());

/** A gateway for connections to one name, whose address is never found. Returns a function that opens some. */
async function openGateway(name: string, places: ConnectionPlaces): Promise<(count: number) => Socket[]> {
  const [lookups, listener] = [createServer(), createServer()];
  const datagrams = createSocket('udp4').bind(0, '127.0.0.1');
  await Promise.all([
    once(datagrams, 'listening'),
    once(lookups.listen(0, '127.0.0.1'), 'listening'),
    once(listener.listen(0, '127.0.0.1'), 'listening'),
  ]);
  const { port } = listener.address() as AddressInfo; // listens on a port
  const egress = new TestEgress({ hosts: [name], ports: [port] });
  resources.use(
    new EgressGateway({
      sockets: { datagrams, lookups, listeners: [listener] },
      egress,
      places,
      names: [[name, '127.0.0.1']],
      resolve: (wanted) => {
        waiting.push(wanted);
        return new Promise(() => {});
      },
      onFault: (error) => {
        throw error;
      },
    }),
  );
  return (count) =>
    Array.from({ length: count }, () => {
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      resources.defer(() => void socket.destroy());
      return socket;
    });
}

test('one server cannot take the places of all gateways in a process that can open 256 files', async () => {
  proves('security.files.shared');
  const places = new ConnectionPlaces(256);
  const one = await openGateway('one.example', places);
  const other = await openGateway('other.example', places);

  const flood = one(100);
  await expect.poll(() => flood.filter(({ closed }) => closed).length).toBe(flood.length - places.perGateway);
  other(1);

  await expect.poll(() => waiting).toContain('other.example');
  expect(waiting.filter((name) => name === 'one.example').length).toBe(places.perGateway);
  expect(2 * 2 * places.perGateway).toBeLessThan(256);
});
