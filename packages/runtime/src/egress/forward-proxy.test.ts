// @suite system
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import type { EgressDecision } from '../egress.ts';
import { Rules } from '../outbound-rules.ts';
import type { OutboundRules } from '../outbound-rules.ts';
import { proves } from '@toolhive/testing/promises';
import { canMakeNetworks } from '../testing/stand-in-hosts.ts';
import { openWebHosts } from '../testing/web-hosts.ts';
import { ForwardProxy } from './forward-proxy.ts';

/** A forward proxy that resolves every name to `addresses`, and its decisions. */
async function openProxy(rules: OutboundRules, addresses: readonly string[] = ['192.0.2.1']) {
  const decisions: EgressDecision[] = [];
  const proxy = await ForwardProxy.open({
    host: '127.0.0.1',
    port: 0,
    egress: {
      rules: new Rules(rules),
      record(decision) {
        decisions.push(decision);
        return undefined;
      },
    },
    resolve: async () => addresses,
  });
  return { proxy, decisions, [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose]() };
}

/** Returns the status line for a tunnel, and the socket. */
async function tunnel(proxy: ForwardProxy, target: string): Promise<{ status: string; socket: Socket }> {
  const socket = connect(proxy.port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  let received = '';
  while (!received.includes('\r\n\r\n')) {
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    received += chunk.toString();
  }
  socket.pause();
  return { status: received.split('\r\n')[0] ?? '', socket };
}

async function fetchThrough(proxy: ForwardProxy, url: string, headers: Record<string, string> = {}) {
  const sent = request({
    port: proxy.port,
    host: '127.0.0.1',
    path: url,
    headers: { host: new URL(url).host, ...headers },
  });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode, body: await text(response) };
}

describe('tunnels', () => {
  test.each([
    ['a host that no rule allows', 'other.example:443', ['203.0.114.1'], 'no rule allows this host'],
    ['a port that no rule allows', 'api.example:22', ['203.0.114.1'], 'port 22 is not allowed'],
    ['a name with a private address', 'api.example:443', ['10.0.0.1'], 'which is a private address'],
    ['a name with a loopback address', 'api.example:443', ['127.0.0.1'], 'which is a loopback address'],
    ['the metadata service', '169.254.169.254:443', [], 'no rule allows this host'],
    ['a mapped loopback address', '[::ffff:127.0.0.1]:443', [], 'no rule allows this host'],
  ])('refuse %s, and record the reason', async (_case, target, addresses, reason) => {
    await using opened = await openProxy({ hosts: ['api.example'], ports: [443] }, addresses);

    const { status, socket } = await tunnel(opened.proxy, target);
    socket.destroy();

    expect(status).toBe('HTTP/1.1 403 Forbidden');
    expect(opened.decisions).toMatchObject([{ verdict: 'denied', reason: expect.stringContaining(reason) }]);
  });

  test.each(['127.1:443', '0x7f.1:443', '2130706433:443', 'api.example', 'api.example:0', 'a b:443'])(
    'refuse a target that is not a host and a port: %s',
    async (target) => {
      await using opened = await openProxy({ everyPublicHost: true, hosts: [], ports: [443] });

      const { status, socket } = await tunnel(opened.proxy, target);
      socket.destroy();

      expect(status).toBe('HTTP/1.1 400 Bad Request');
    },
  );
});

describe('requests with a complete URL', () => {
  const outside = Object.values(networkInterfaces())
    .flat()
    .find((found) => found?.family === 'IPv4' && !found.internal)?.address;

  test('reach no address of this machine, even if a rule lists the address', async () => {
    const server = createServer((_request, response) => response.end('secret')).listen(0, '0.0.0.0');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const addresses = ['127.0.0.1', ...(outside === undefined ? [] : [outside])];
    await using opened = await openProxy({ hosts: ['api.example', ...addresses], ports: [port] }, addresses);

    const byName = await fetchThrough(opened.proxy, `http://api.example:${port}/`);
    const byAddress = await fetchThrough(opened.proxy, `http://127.0.0.1:${port}/`);

    expect([byName.status, byAddress.status]).toEqual([403, 403]);
    server.close();
  });

  test('reach no address of this machine in another form, even if a rule lists the address', async () => {
    const server = createServer((_request, response) => response.end('secret')).listen(0, '::');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await using opened = await openProxy({ hosts: ['0.0.0.0/0', '::/0'], ports: [port] });

    for (const address of ['::ffff:127.0.0.1', '::ffff:7f00:1', '0:0:0:0:0:ffff:7f00:0001', '0:0::1']) {
      const { status, socket } = await tunnel(opened.proxy, `[${address}]:${port}`);
      socket.destroy();
      expect(status).toBe('HTTP/1.1 403 Forbidden');
    }
    server.close();
  });

  test('are refused if the Host header names another host', async () => {
    await using opened = await openProxy({ hosts: ['api.example', 'other.example'], ports: [80] });

    const { status, body } = await fetchThrough(opened.proxy, 'http://api.example/', {
      host: 'other.example',
    });

    expect(status).toBe(403);
    expect(body).toContain('the Host header names another host');
  });

  test.runIf(canMakeNetworks)('survive a status that a server may not send', async () => {
    proves('security.network.contained');
    await using hosts = await openWebHosts(1);
    await using opened = await openProxy({ hosts: ['api.example'], ports: [80] }, hosts.far);
    const statusOf = async (sent: string) => {
      const { status } = await fetchThrough(opened.proxy, `http://api.example/status/${sent}`);
      return status;
    };

    const statuses = [await statusOf('000'), await statusOf('099'), await statusOf('999')];

    expect(statuses).toEqual([502, 502, 999]);
    expect(await statusOf('200')).toBe(200);
  });

  test('are refused without a complete URL', async () => {
    await using opened = await openProxy({ hosts: ['api.example'], ports: [80] });
    const sent = request({ port: opened.proxy.port, host: '127.0.0.1', path: '/' }).end();

    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();

    expect(response.statusCode).toBe(400);
  });
});
