// @suite faults
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type Socket, connect, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { Rules } from '../outbound-rules.ts';
import { type Chaos, chaosTimeoutMs, openChaos } from '../testing/chaos.ts';
import { waitFor } from '../testing/conformance.ts';
import { canMakeNetworks } from '../testing/stand-in-hosts.ts';
import { type WebHosts, openWebHosts } from '../testing/web-hosts.ts';
import { EgressGateway } from './gateway.ts';

const request = 'GET / HTTP/1.1\r\nHost: api.example\r\n\r\n';

describe.runIf(canMakeNetworks)('chaos in the egress gateway (as root, with iproute2)', () => {
  let hosts: WebHosts;

  beforeAll(async () => {
    hosts = await openWebHosts(1);
  });
  afterAll(() => hosts[Symbol.asyncDispose]());

  test(
    'closing anything at any time causes no fault',
    async () => {
      proves('security.network.contained');
      const chaos = openChaos(500);
      const faults: unknown[] = [];

      await chaos.rounds(() => playRound(chaos, hosts.far, (fault) => faults.push(fault)));

      expect(faults).toEqual([]);
    },
    chaosTimeoutMs,
  );
});

/** One gateway, a few things that a server does, and everything that can end meanwhile. */
async function playRound(
  chaos: Chaos,
  addresses: readonly string[],
  onFault: (fault: unknown) => void,
): Promise<void> {
  const datagrams = createSocket('udp4').bind(0, '127.0.0.1');
  const lookups = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  await Promise.all([once(datagrams, 'listening'), once(lookups, 'listening')]);
  const answers: (() => void)[] = [];
  const gateway = new EgressGateway({
    sockets: { datagrams, lookups, listeners: [] },
    egress: {
      rules: new Rules({ hosts: ['api.example', '11.230.0.0/16'], ports: [80, 443, 5432, 2222] }),
      record: () => () => {},
    },
    resolve: () => {
      const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
      const fail = (): void => reject(Object.assign(new Error('nothing'), { code: 'EAI_AGAIN' }));
      answers.push(chaos.pick(4) === 0 ? fail : () => resolve(addresses));
      return promise;
    },
    names: [['api.example', '198.18.1.0']],
    onFault,
  });
  const { port: lookupPort } = datagrams.address();
  const tcp = lookups.address() as { port: number }; // it listens on TCP
  const pairs = await Promise.all(Array.from({ length: chaos.pick(3) }, () => connected()));
  const asking = connect(tcp.port, '127.0.0.1').on('error', () => {});
  const client = createSocket('udp4').on('error', () => {});
  const packet = query(
    chaos.oneOf(['api.example', 'evil.example', '0.1.18.198.in-addr.arpa']),
    chaos.oneOf([1, 12, 28]),
  );
  const framed = Buffer.concat([Buffer.from([0, packet.length]), packet]);
  const cut = chaos.pick(framed.length);

  await chaos.atRandomTurns([
    () =>
      client.send(chaos.pick(8) === 0 ? packet.subarray(0, cut) : packet, lookupPort, '127.0.0.1', () => {}),
    () => client.send(packet, lookupPort, '127.0.0.1', () => {}),
    () => asking.write(framed.subarray(0, cut)),
    () => asking.write(framed.subarray(cut)),
    () => chaos.oneOf([() => asking.destroy(), () => asking.resetAndDestroy(), () => asking.end()])(),
    ...pairs.flatMap(([outer, inner]) => {
      const bytes = chaos.oneOf([
        request,
        request.slice(0, 20),
        '\x16\x03\x01\x02\x00\x01',
        'x'.repeat(70_000),
        '',
      ]);
      Object.defineProperties(inner, {
        localAddress: { value: chaos.oneOf(['198.18.1.0', '198.18.1.9', addresses[0], '127.0.0.1']) },
        localPort: { value: chaos.oneOf([80, 443, 5432, 2222, 22]) },
      });
      return [
        () => gateway.accept(inner),
        () => outer.write(bytes),
        () => outer.write(request),
        () =>
          chaos.oneOf([
            () => outer.destroy(),
            () => outer.resetAndDestroy(),
            () => outer.end(),
            () => inner.destroy(),
          ])(),
      ];
    }),
    ...Array.from({ length: 6 }, () => () => answers.shift()?.()),
    () => gateway[Symbol.dispose](),
  ]);

  gateway[Symbol.dispose]();
  for (const answer of answers) answer();
  for (const socket of [asking, ...pairs.flat()]) socket.destroy();
  client.close();
  await waitFor(() => pairs.flat().every(({ closed }) => closed));
}

/** Both ends of a connection. */
async function connected(): Promise<[Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const outer = connect((server.address() as { port: number }).port, '127.0.0.1').on('error', () => {}); // it listens on TCP
  const [inner] = await accepted;
  server.close();
  return [outer, inner.on('error', () => {})];
}

/** A query as a resolver library writes it. */
function query(name: string, type: number): Buffer {
  const labels = name.split('.').flatMap((label) => [label.length, ...Buffer.from(label)]);
  return Buffer.from([0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, type, 0, 1]);
}
