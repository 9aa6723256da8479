import { once } from 'node:events';
import { type Server, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import type { GatewayProcess } from '../egress/gateway-process.ts';
import type { Launch, Runtime } from '../runtime.ts';
import type { ServerSource } from '../source.ts';
import { aLaunch, waitFor } from './conformance.ts';
import { LocalService } from './local-service.ts';
import { type NameServer, openNameServer } from './name-server.ts';
import { Conversation } from './talk.ts';
import { TestEgress } from './test-egress.ts';
import { type WebHosts, openWebHosts } from './web-hosts.ts';

/** Where servers run. */
export interface RulesPlace extends AsyncDisposable {
  runtime: Pick<Runtime, 'start'>;
  /** The test servers, ready to start. */
  source: ServerSource;
  /** Kills the process of the gateways. Absent where servers end with it. */
  killGateways?: () => Promise<void>;
}

/** Where a server finds programs. Absent where it never has one, and empty if it is missing on this machine. */
export interface RulesPrograms {
  node: string;
  python?: string;
  curl?: string;
  ip?: string;
}

interface RulesOptions {
  /** Whether servers cannot have local ports, because the daemon cannot enter their network. */
  refusesLocalPorts?: boolean;
}

type Talk = Conversation & AsyncDisposable;
const never = new AbortController().signal;

/** Kills the process in which gateways run. */
export async function killProcessOf(gateways: GatewayProcess): Promise<void> {
  const pid = await gateways.pid();
  if (pid === undefined) throw new Error('the gateways have no process');
  process.kill(pid, 'SIGKILL');
}

/** One test if there is such a program, and none where there never is. */
const listed = (program: string | undefined): string[] => (program === undefined ? [] : [program]);

/** Listens on the first port that is free. The gateway refuses connections to each of them and records that. */
async function listenOnOneOf([port, ...others]: readonly number[], listener: Server): Promise<number> {
  try {
    await once(listener.listen(port, '0.0.0.0'), 'listening');
    return port ?? 0;
  } catch (error) {
    if (others.length === 0) throw error;
    return listenOnOneOf(others, listener);
  }
}

/** The cases of network rules that every runtime passes, with a server that tries each attack. */
export function describeNetworkRules(
  { node, python, curl, ip }: RulesPrograms,
  open: (nameServer: string) => Promise<RulesPlace>,
  { refusesLocalPorts = false }: RulesOptions = {},
): void {
  let place: RulesPlace;
  let hosts: WebHosts;
  let nameServer: NameServer;
  let egress: TestEgress;
  /** What names resolve to. */
  const names = new Map<string, readonly string[]>();
  const queried: string[] = [];
  /** How long names are not resolved. */
  let resolution: Promise<void> = Promise.resolve();
  let allowed: string;
  let other: string;
  /** A server whose rules each test sets. */
  let server: Talk;

  beforeAll(async () => {
    hosts = await openWebHosts(3);
    const [first = '', second = ''] = hosts.far;
    [allowed, other] = [first, second];
    const resolve = async (name: string): Promise<readonly string[]> => {
      queried.push(name);
      await resolution;
      const addresses = names.get(name);
      if (addresses === undefined) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
      return addresses;
    };
    nameServer = await openNameServer(resolve);
    place = await open(nameServer.address);
    egress = new TestEgress();
    server = await talk({ network: network() });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await hosts[Symbol.asyncDispose]();
    await place[Symbol.asyncDispose]();
    await nameServer[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    names.clear();
    names.set('api.example', [allowed]).set('evil.example', [other]).set('deep.api.example', [allowed]);
    queried.length = 0;
    resolution = Promise.resolve();
    await egress.reset({ hosts: ['api.example'], ports: [80, 443] });
  });

  const network = () => ({ kind: 'rules', egress }) as const;

  async function talk(changes: Partial<Launch>): Promise<Talk> {
    const workload = `rules-${crypto.randomUUID().slice(0, 8)}`;
    const instance = await place.runtime.start(aLaunch(place.source, { workload, ...changes }), never);
    if (instance.stdio === undefined) throw new Error('the instance speaks no stdio');
    return Object.assign(new Conversation(instance.stdio), {
      [Symbol.asyncDispose]: () => instance[Symbol.asyncDispose](),
    });
  }

  async function run(command: string, ...args: string[]): Promise<{ code: number; output: string }> {
    const { text } = await server.call('execute', { command, args });
    return JSON.parse(text) as { code: number; output: string };
  }
  const script = (program: string) => run(node, '-e', program);
  const fetched = (url: string) =>
    script(
      `fetch('${url}').then((r) => r.text()).then(console.log, (e) => console.log(e.cause?.code ?? e.code))`,
    );
  /** What a TCP client gets: the code of its error, or what the other side sends after `say`. */
  const dialled = (host: string, port: number, say = '') =>
    script(`
const socket = require('node:net').connect(${port}, '${host}');
let text = '';
socket.on('connect', () => socket.write(${JSON.stringify(say)}));
socket.on('data', (chunk) => (text += chunk)).on('error', (e) => console.log(e.code)).on('close', () => { console.log(text || 'nothing'); process.exit(); });
setTimeout(() => { console.log('timeout'); process.exit(); }, 5000);
`);

  describe('clients without support for proxies reach an allowed host', () => {
    test('fetch of Node.js', async () => {
      const { output } = await fetched('http://api.example/');

      expect(output).toContain(`http api.example at ${allowed}`);
      await expect
        .poll(() => egress.decisions)
        .toEqual([{ host: 'api.example', port: 80, verdict: 'allowed', rule: 'allow_host: api.example' }]);
      await waitFor(() => egress.traffic.length > 0);
      expect(egress.traffic[0]?.received).toBeGreaterThan(40);
    });

    test('https of Node.js', async () => {
      const { output } = await script(
        "require('node:https').get({ host: 'api.example', rejectUnauthorized: false }, (r) => r.on('data', (d) => console.log(String(d)))).on('error', console.log)",
      );

      expect(output).toContain(`https api.example at ${allowed}`);
    });

    test.runIf(python !== '').each(listed(python))('urllib and sockets of Python', async (python) => {
      const { output } = await run(
        python,
        '-c',
        `
import socket, ssl, urllib.request
print(urllib.request.urlopen('http://api.example/').read().decode())
context = ssl._create_unverified_context()
print(urllib.request.urlopen('https://api.example/', data=b'x' * 300000, context=context).read().decode())
print(socket.create_connection(('api.example', 80)).getpeername()[1])
`,
      );

      expect(output).toContain(`http api.example at ${allowed}`);
      expect(output).toContain(`https api.example at ${allowed}, 300000 bytes`);
      expect(output).toContain('80');
    });

    test.runIf(curl !== '').each(listed(curl))('curl, with a request of 5 MB', async (curl) => {
      const shell = `head -c 5000000 /dev/zero | ${curl} -sk --data-binary @- https://api.example/`;

      expect((await run('sh', '-c', shell)).output).toContain(
        `https api.example at ${allowed}, 5000000 bytes`,
      );
    });

    test('a protocol in which the server speaks first, on an allowed port', async () => {
      await egress.reset({ hosts: ['db.example'], ports: [5432] });
      names.set('db.example', [allowed]);

      expect((await dialled('db.example', 5432)).output).toContain(`hello from ${allowed}:5432`);
    });

    test('a name in any letter case, with a final dot, and below a pattern', async () => {
      await egress.reset({ hosts: ['.api.example'], ports: [80] });

      expect((await fetched('http://API.Example/')).output).toContain(`at ${allowed}`);
      expect((await fetched('http://deep.api.example/')).output).toContain(`at ${allowed}`);
    });

    test('a reverse lookup finds the name', async () => {
      const { output } = await script(
        "const d = require('node:dns'); d.lookup('api.example', (e, a) => d.reverse(a, (e, n) => console.log(a, n)))",
      );

      expect(output).toMatch(/198\.18\.\d+\.\d+ \[ 'api\.example' \]/);
    });
  });

  describe('attacks', () => {
    test('a name that no rule allows is not found, and its query leaves nothing', async () => {
      const { output } = await fetched('http://evil.example/');

      expect(output.trim()).toBe('ENOTFOUND');
      expect(queried).toEqual([]);
      await expect.poll(() => egress.denied).toContain('evil.example: no rule allows this host');
    });

    test('data in the labels of a name reaches no resolver (DNS tunnel)', async () => {
      const tunnel = `${'a'.repeat(60)}.${'b'.repeat(60)}.evil.example`;
      await script(`
const { Resolver } = require('node:dns').promises;
const resolver = new Resolver({ timeout: 500, tries: 1 });
Promise.allSettled(['A', 'TXT', 'NULL', 'MX', 'CNAME', 'SRV'].map((type) => resolver.resolve('${tunnel}', type))).then(() => console.log('done'));
`);

      expect(queried).toEqual([]);
    });

    test('another resolver is not reached (DNS over UDP and TCP)', async () => {
      const { output } = await script(`
const { Resolver } = require('node:dns').promises;
const resolver = new Resolver({ timeout: 500, tries: 1 });
resolver.setServers(['${other}']);
resolver.resolve4('evil.example').then(console.log, (e) => console.log(e.code));
`);

      expect(output).toMatch(/ETIMEOUT|ECONNREFUSED/);
      expect(await hosts.visits(other)).not.toContain('udp 53');
    });

    test('an address without a name is refused and recorded', async () => {
      expect((await dialled(other, 80, 'GET / HTTP/1.1\r\nHost: api.example\r\n\r\n')).output).toContain(
        'ECONNRESET',
      );
      await expect.poll(() => egress.denied).toContain(`${other}:80: no rule allows this host`);
    });

    test('the address of an allowed host, without its name, is refused', async () => {
      expect((await dialled(allowed, 443)).output).toContain('ECONNRESET');
    });

    test('metadata, private, and link-local addresses are refused, and recorded', async () => {
      await egress.reset({ ports: [80, 443] });

      for (const address of ['169.254.169.254', '10.0.0.1', '192.168.1.1', '100.64.0.1']) {
        expect((await dialled(address, 80)).output).toContain('ECONNRESET');
      }
      await expect.poll(() => egress.denied).toContain('169.254.169.254:80: it is a link-local address');
      await expect.poll(() => egress.denied).toContain('10.0.0.1:80: it is a private address');
    });

    test('no rule leads to a link-local or metadata address', async () => {
      const addresses = ['169.254.169.254', '100.100.100.200', '168.63.129.16'];
      names.set('metadata.example', ['169.254.169.254']);
      await egress.reset({ hosts: [...addresses, '169.254.0.0/16', 'metadata.example'], ports: [80] });

      for (const address of addresses) expect((await dialled(address, 80)).output).toContain('ECONNRESET');
      expect((await fetched('http://metadata.example/')).output.trim()).toBe('ECONNRESET');
      expect(egress.denied).toContain('169.254.169.254:80: it is a link-local address');
      expect(egress.denied).toContain('168.63.129.16:80: it is a cloud metadata address');
    });

    test('a port that no rule allows is refused, and recorded where that is usual', async () => {
      expect((await dialled('api.example', 22)).output).toContain('ECONNRESET');
      expect((await dialled('api.example', 9999)).output).toContain('ECONNREFUSED');
      await expect.poll(() => egress.denied).toContain('api.example:22: port 22 is not allowed');
    });

    test.each(['10.1.2.3', '127.0.0.1', '169.254.169.254', '::1', '::ffff:127.0.0.1', 'fd00::1'])(
      'an allowed name that resolves to %s is refused (DNS rebinding)',
      async (address) => {
        names.set('api.example', [address]);

        expect((await fetched('http://api.example/')).output.trim()).toBe('ECONNRESET');
        await expect
          .poll(() => egress.denied.join())
          .toContain(`api.example:80: the name resolves to ${address}, which is`);
      },
    );

    test('a denial tells which rule is missing, if one could allow the connection', async () => {
      const own = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
      const machine = own.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '';
      names.set('api.example', ['10.0.0.1']).set('machine.example', [machine]);
      await egress.reset({ hosts: ['api.example', 'machine.example'], ports: [80] });

      await fetched('http://evil.example/');
      await fetched('http://api.example:8080/');
      for (const name of ['api.example', 'machine.example']) await fetched(`http://${name}/`);
      for (const address of ['10.0.0.2', machine, '198.18.200.1']) await dialled(address, 80);

      const missing = new Map(
        egress.decisions.map(({ host, port, missing }) => [`${host}:${port}`, missing]),
      );
      expect(Object.fromEntries(missing)).toEqual({
        'evil.example:undefined': 'host',
        'api.example:8080': 'port',
        'api.example:80': 'address',
        'machine.example:80': 'nothing',
        '10.0.0.2:80': 'host',
        [`${machine}:80`]: 'nothing',
        '198.18.200.1:80': 'nothing',
      });
    });

    test('a name leads to a private address only if that address is listed, too', async () => {
      const [private_ = ''] = hosts.private;
      names.set('db.example', [private_]);
      await egress.reset({ hosts: ['db.example'], ports: [80] });
      const before = await fetched('http://db.example/');

      await egress.reset({ hosts: ['db.example', private_], ports: [80] });

      expect(before.output.trim()).toBe('ECONNRESET');
      expect((await fetched('http://db.example/')).output).toContain(`at ${private_}`);
      expect((await fetched(`http://${private_}/`)).output).toContain(`at ${private_}`);
    });

    test('a name that changes its address after the lookup is checked again (DNS rebinding)', async () => {
      const { output } = await script("require('node:dns').lookup('api.example', (e, a) => console.log(a))");
      names.set('api.example', ['127.0.0.1']);

      const request = 'GET / HTTP/1.1\r\nHost: api.example\r\n\r\n';
      expect((await dialled(output.trim(), 80, request)).output).toContain('ECONNRESET');
    });

    test('what listens on this machine is not reached by any of its addresses', async () => {
      let visits = 0;
      const listener = createServer((socket) => {
        visits += 1;
        socket.destroy();
      });
      const port = await listenOnOneOf([9200, 27_017, 6379, 8443, 3306], listener);
      // Not those of engines and of other tests, which may go meanwhile.
      const devices = Object.entries(networkInterfaces()).filter(([name]) => !/^(br-|veth|thv)/.test(name));
      const own = devices.flatMap(([, found]) => found ?? []);
      const addresses = own.filter(({ family }) => family === 'IPv4').map(({ address }) => address);
      await egress.reset({ hosts: ['0.0.0.0/0', 'machine.example', 'mapped.example'], ports: [port] });
      names.set('machine.example', addresses);
      names.set(
        'mapped.example',
        [...addresses, hosts.near].map((address) => `::ffff:${address}`),
      );

      for (const address of [
        ...addresses,
        hosts.near,
        'machine.example',
        'mapped.example',
        'localhost',
        '198.18.0.1',
        '0.0.0.0',
      ]) {
        expect((await dialled(address, port)).output).toMatch(/ECONNRE(SET|FUSED)/);
      }
      expect(visits).toBe(0);
      listener.close();
    });

    test('a different Host than the name is refused', async () => {
      const request = 'GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n';

      expect((await dialled('api.example', 80, request)).output).toContain('ECONNRESET');
      await expect
        .poll(() => egress.denied)
        .toContain('api.example:80: the connection is for "evil.example"');
    });

    test.each([
      ['two Host headers', 'GET / HTTP/1.1\r\nHost: api.example\r\nHost: evil.example\r\n\r\n'],
      ['a tunnel', 'CONNECT evil.example:443 HTTP/1.1\r\nHost: api.example\r\n\r\n'],
      ['another host in the target', 'GET http://evil.example/ HTTP/1.1\r\nHost: api.example\r\n\r\n'],
      ['no Host', 'GET / HTTP/1.0\r\n\r\n'],
      ['no HTTP', 'SSH-2.0-client\r\n\r\n'],
    ])('%s on port 80 is refused', async (_what, request) => {
      expect((await dialled('api.example', 80, request)).output).toContain('ECONNRESET');
      expect(await hosts.visits(allowed)).not.toContain('http evil.example /');
    });

    test('a different server name in TLS, none, and no TLS are refused', async () => {
      const tls = (servername: string) =>
        script(
          `require('node:tls').connect({ host: 'api.example', port: 443, servername: '${servername}', rejectUnauthorized: false }, () => { console.log('connected'); process.exit(); }).on('error', (e) => console.log(e.code))`,
        );

      expect((await tls('api.example')).output.trim()).toBe('connected');
      expect((await tls('evil.example')).output.trim()).toBe('ECONNRESET');
      expect((await tls('')).output.trim()).toBe('ECONNRESET');
      expect((await dialled('api.example', 443, 'GET / HTTP/1.1\r\n\r\n')).output).toContain('ECONNRESET');
    });

    test('datagrams are not forwarded (UDP, QUIC)', async () => {
      await script(`
const socket = require('node:dgram').createSocket('udp4');
let left = 20;
const send = () => socket.send('x', 443, left % 2 ? 'api.example' : '${other}', () => (left -= 1) ? send() : socket.close());
socket.on('error', () => {});
send();
`);

      expect(await hosts.visits(allowed)).not.toContain('udp 443');
      expect(await hosts.visits(other)).not.toContain('udp 443');
    });

    test('IPv6 leads nowhere', async () => {
      expect((await dialled('2001:4860:4860::8888', 443)).output).toMatch(
        /ENETUNREACH|EADDRNOTAVAIL|EHOSTUNREACH/,
      );
      expect((await dialled('::ffff:10.0.0.1', 80)).output).toMatch(/ECONNRESET|ENETUNREACH/);
    });

    test.runIf(ip !== '').each(listed(ip))('the server can change nothing of its network', async (ip) => {
      for (const args of [
        ['link', 'add', 'd0', 'type', 'dummy'],
        ['route', 'del', 'default'],
        ['addr', 'add', '10.9.9.9/24', 'dev', 'eth0'],
        ['link', 'set', 'eth0', 'down'],
      ]) {
        const { code } = await run(ip, ...args);
        expect(code).not.toBe(0);
      }
      expect((await run('unshare', '--user', '--net', 'true')).code).not.toBe(0);
    });

    test('the server has no capability, and can open no socket for raw packets', async () => {
      const { output } = await script(
        "console.log(require('node:fs').readFileSync('/proc/self/status', 'utf8'))",
      );

      expect(output.match(/^Cap(Inh|Prm|Eff|Amb):\s+0+$/gm)).toHaveLength(4);
    });

    test('the server inherits no descriptor of a namespace', async () => {
      const { output } = await script(
        "const fs = require('node:fs'); for (const fd of fs.readdirSync('/proc/self/fd')) try { console.log(fs.readlinkSync('/proc/self/fd/' + fd)) } catch {}",
      );

      expect(output).toContain('pipe:');
      expect(output).not.toMatch(/net:|user:|ns\//);
    });

    test('another server with rules is not reached', async () => {
      const http = { args: ['http'], transport: { kind: 'http', targetPort: 8080 } } as const;
      const env = { MCP_PORT: '8080', MCP_HOST: '0.0.0.0' };
      const theirs = new TestEgress();
      const launch = {
        workload: `other-rules-${process.pid}`,
        ...http,
        env,
        network: { ...network(), egress: theirs },
      };
      await using _other = await place.runtime.start(aLaunch(place.source, launch), never);

      for (const address of ['198.18.0.2', '198.18.0.1', '198.18.0.3']) {
        expect((await dialled(address, 8080)).output).toMatch(/ECONNRE(SET|FUSED)|nothing|timeout/);
      }
      expect(theirs.decisions).toEqual([]);
    });

    test('more connections than a server may have are reset, and the others go on', async () => {
      const { output } = await script(`
let reset = 0;
for (let count = 0; count < 1200; count += 1)
  require('node:net').connect(80, 'api.example').on('error', () => (reset += 1) === 176 && (console.log(reset), process.exit()));
`);

      expect(output).toContain('176');
      expect((await fetched('http://api.example/')).output).toContain(`at ${allowed}`);
    });
  });

  test('a lookup whose answer comes when its server has gone ends nothing', async () => {
    proves('security.network.contained');
    const { promise, resolve } = Promise.withResolvers<void>();
    resolution = promise;
    const leaving = await talk({ network: network() });
    const lookUp = `
const { Resolver } = require('node:dns');
for (let count = 0; count < 20; count += 1) new Resolver().resolve4('api.example', () => {});
const socket = require('node:net').connect(53, '198.18.0.1', () => socket.write(Buffer.from('001b123401000001000000000000036170690765786d616d706c650000010001', 'hex'), () => process.exit()));
setTimeout(() => process.exit(), 500);
`;
    await leaving.call('execute', { command: node, args: ['-e', lookUp] });
    await waitFor(() => queried.includes('api.example'));

    await leaving[Symbol.asyncDispose]();
    resolve();

    // Not at once if the resolver has given up meanwhile.
    await waitFor(async () => (await fetched('http://api.example/')).output.includes(`at ${allowed}`));
    expect(queried).toContain('api.example');
  });

  test('a connection whose host is resolved when its server has gone ends nothing', async () => {
    const leaving = await talk({ network: network() });
    const reached = `require('node:http').get('http://api.example/', (response) => { console.log('reached'); process.exit(); })`;
    await leaving.call('execute', { command: node, args: ['-e', reached] });
    const { promise, resolve } = Promise.withResolvers<void>();
    resolution = promise;
    queried.length = 0;
    const waiting = `
const socket = require('node:net').connect(80, process.argv[1], () => socket.write('GET / HTTP/1.1\\r\\nHost: api.example\\r\\n\\r\\n'));
setTimeout(() => process.exit(), 500);
`;
    await leaving.call('execute', { command: node, args: ['-e', waiting, '198.18.1.0'] });
    await waitFor(() => queried.includes('api.example'));

    await leaving[Symbol.asyncDispose]();
    resolve();

    // Not at once if the resolver has given up meanwhile.
    await waitFor(async () => (await fetched('http://api.example/')).output.includes(`at ${allowed}`));
    expect(queried).toContain('api.example');
  });

  test.each(refusesLocalPorts ? [] : ['localhost'])('a local port is reached at %s', async (host) => {
    await using service = await LocalService.open('127.0.0.1');
    const { port } = service;
    const localEgress = new TestEgress({ hosts: [], ports: [], localPorts: [port] });
    await using local = await talk({ network: { kind: 'rules', egress: localEgress } });
    const client = `require('node:net').connect(${port}, '${host}', function () { this.end('hello') }).pipe(process.stdout).on('error', console.log)`;

    const { text } = await local.call('execute', { command: node, args: ['-e', client] });

    expect(JSON.parse(text)).toMatchObject({ output: 'welcome hello' });
    await expect
      .poll(() => localEgress.decisions)
      .toEqual([{ host, port, verdict: 'allowed', rule: `local port ${port}` }]);
  });

  test.each(refusesLocalPorts ? [5432] : [])(
    'a server does not start if it could not reach the local port %i',
    async (port) => {
      const localEgress = new TestEgress({ hosts: [], ports: [], localPorts: [port] });

      await expect(talk({ network: { kind: 'rules', egress: localEgress } })).rejects.toThrow(
        'the server cannot reach ports of this machine',
      );
    },
  );

  test('another process takes over if the one of the gateways is killed', async () => {
    const { killGateways } = place;
    const look =
      "require('node:dns').lookup('api.example', (error, address) => console.log(error ?? address))";
    const address = async (): Promise<string | undefined> =>
      /^198\.18\.\d+\.\d+\n$/.exec((await script(look)).output)?.[0];
    const before = (await waitFor(address)) ?? '';

    await killGateways?.();
    const response = await waitFor(async () => {
      const request = 'GET / HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n';
      const { output } =
        killGateways === undefined
          ? await fetched('http://api.example/')
          : await dialled(before.trim(), 80, request);
      return output.includes(`at ${allowed}`) && output;
    });

    // The address that the server knows still leads to the same host, and the rules are the same.
    expect(response).toContain('http api.example');
    expect(await waitFor(address)).toBe(before);
    expect((await fetched('http://evil.example/')).output).toContain('ENOTFOUND');
    await expect.poll(() => egress.denied).toContain('evil.example: no rule allows this host');
  });

  test('a later request on a connection is not compared with the rules (a documented limit)', async () => {
    const requests = ['api.example', 'evil.example'].map(
      (host) => `GET /later HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    );

    const { output } = await dialled(
      'api.example',
      80,
      requests.join('').replace(/\r\n\r\n$/, '\r\nConnection: close\r\n\r\n'),
    );

    // It reaches the allowed host, whatever it names, and no other one.
    expect(output).toContain(`http evil.example at ${allowed}`);
    expect(await hosts.visits(other)).not.toContain('http evil.example /later');
  });

  test('a change of the rules applies to the next connection', async () => {
    const before = await fetched('http://evil.example/');

    await egress.change({ hosts: ['api.example', 'evil.example'], ports: [80, 443] });

    expect(before.output).toContain('ENOTFOUND');
    expect((await fetched('http://evil.example/')).output).toContain(`http evil.example at ${other}`);
  });

  test('a port beyond the usual ones works', async () => {
    await egress.reset({ hosts: ['db.example'], ports: [2222] });
    names.set('db.example', [allowed]);
    await using another = await talk({ network: network() });

    const program =
      "require('node:net').connect(2222, 'db.example').on('data', (d) => console.log(String(d)))";
    const { text } = await another.call('execute', { command: node, args: ['-e', program] });

    expect(text).toContain(`hello from ${allowed}:2222`);
  });

  test('servers that start at once have networks of their own, which end with them', async () => {
    const gateways = Array.from({ length: 4 }, () => new TestEgress());
    for (const gateway of gateways) await gateway.reset({ hosts: ['api.example'], ports: [80] });
    const servers = await Promise.all(
      gateways.map((own) => talk({ network: { kind: 'rules', egress: own } })),
    );
    const program =
      "fetch('http://api.example/').then((r) => r.text()).then(console.log, (e) => console.log(e.cause.code))";

    const texts = await Promise.all(
      servers.map((one) => one.call('execute', { command: node, args: ['-e', program] })),
    );
    await Promise.all(servers.map((one) => one[Symbol.asyncDispose]()));

    expect(texts.filter(({ text }) => text.includes(`at ${allowed}`))).toHaveLength(4);
    await expect.poll(() => gateways.map(({ decisions }) => decisions.length)).toEqual(Array(4).fill(1));
  });
}
