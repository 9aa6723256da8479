// @suite system (in depth)
import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pinMounts } from '../mount-source.ts';
import { GatewayProcess } from '../egress/gateway-process.ts';
import { type NameServer, openNameServer } from '../testing/name-server.ts';
import { TestEgress } from '../testing/test-egress.ts';
import { selfSigned } from '../testing/self-signed.ts';
import { type StandInHosts, canMakeNetworks, openStandInHosts } from '../testing/stand-in-hosts.ts';
import { type ProcessRig, type Talk, openRig, talkTo } from './test-rig.ts';

// Programs that people's servers use, as they are published: none of them is told of a proxy.

const run = promisify(execFile);
const go = '/usr/local/go/bin/go';
const hasGo = await access(go).then(
  () => true,
  () => false,
);
const hasPip = await run('python3', ['-m', 'pip', '--version']).then(
  () => true,
  () => false,
);

const npmClients = ['pg@8', 'ioredis@5', '@grpc/grpc-js@1', 'undici@8', 'axios@1'];
const pythonClients = ['requests', 'httpx[http2]'];

const goClient = `package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	pool := x509.NewCertPool()
	pem, _ := os.ReadFile("/clients/ca.pem")
	pool.AppendCertsFromPEM(pem)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	response, err := (&http.Client{Transport: transport}).Get(os.Args[1])
	if err != nil {
		fmt.Println(err)
		return
	}
	body, _ := io.ReadAll(response.Body)
	fmt.Println(string(body))
}
`;

const hasJava = await run('jlink', ['--version']).then(
  () => true,
  () => false,
);

const javaClient = `
import java.io.FileInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

public class Client {
  public static void main(String[] arguments) throws Exception {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    try (FileInputStream pem = new FileInputStream("/clients/ca.pem")) {
      int count = 0;
      for (var each : CertificateFactory.getInstance("X.509").generateCertificates(pem))
        store.setCertificateEntry("ca" + count++, each);
    }
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(store);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    HttpClient client = HttpClient.newBuilder().sslContext(context).build();
    try {
      HttpRequest request = HttpRequest.newBuilder(URI.create(arguments[0])).build();
      HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
      System.out.println(response.body());
    } catch (java.io.IOException problem) {
      System.out.println(problem);
    }
    System.exit(0);
  }
}
`;

describe.runIf(canMakeNetworks)('clients behind the egress gateway (as root, with iproute2)', () => {
  let folder: string;
  let clients: string;
  let hosts: StandInHosts;
  let nameServer: NameServer;
  let rig: ProcessRig;
  let server: Talk;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thv-clients-'));
    clients = join(folder, 'clients');
    const pem = { web: selfSigned('web.example'), rpc: selfSigned('rpc.example') };
    await mkdir(clients);
    await writeFile(join(clients, 'ca.pem'), pem.web.certificate + pem.rpc.certificate);
    await Promise.all([installNpmClients(), installPythonClients(), buildGoClient(), buildJavaClient()]);
    hosts = await openStandInHosts(services(join(clients, 'node_modules'), pem), 2);
    const [web = '', rpc = ''] = hosts.far;
    const names = new Map([
      ['web.example', web],
      ['db.example', web],
      ['rpc.example', rpc],
    ]);
    const resolve = async (name: string): Promise<readonly string[]> => [names.get(name) ?? '0.0.0.0'];
    nameServer = await openNameServer(resolve);
    rig = await openRig({ gateways: new GatewayProcess({ nameServers: [nameServer.address] }) });
    const rules = { hosts: ['.example'], ports: [80, 443, 5432, 6379] };
    const egress = new TestEgress();
    await egress.reset(rules);
    server = await talkTo(rig, {
      network: { kind: 'rules', egress },
      mounts: await pinMounts([{ source: clients, target: '/clients', readOnly: true }]),
    });
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await hosts?.[Symbol.asyncDispose]();
    await rig?.[Symbol.asyncDispose]();
    await nameServer?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  async function installNpmClients(): Promise<void> {
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
    await run('npm', ['install', ...options, '--prefix', clients, ...npmClients]);
  }

  async function installPythonClients(): Promise<void> {
    if (!hasPip) return;
    // Without compiled parts, which another Python than the sandbox's would get.
    const pure = ['--platform', 'any', '--only-binary=:all:'];
    const target = ['--target', join(clients, 'python')];
    await run('python3', ['-m', 'pip', 'install', '--quiet', ...pure, ...target, ...pythonClients]);
  }

  async function buildGoClient(): Promise<void> {
    if (!hasGo) return;
    const source = join(folder, 'go');
    await mkdir(source);
    await writeFile(join(source, 'go.mod'), 'module client\n\ngo 1.20\n');
    await writeFile(join(source, 'main.go'), goClient);
    const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '' };
    await run(go, ['build', '-o', join(clients, 'go-client'), '.'], { cwd: source, env });
  }

  async function buildJavaClient(): Promise<void> {
    if (!hasJava) return;
    await writeFile(join(folder, 'Client.java'), javaClient);
    await run('javac', ['-d', clients, join(folder, 'Client.java')]);
    // Distributions keep a part of Java in /etc, which a sandbox does not have.
    const modules = ['--add-modules', 'java.net.http,jdk.crypto.ec', '--output', join(clients, 'java')];
    await run('jlink', ['--no-header-files', '--no-man-pages', ...modules]);
  }

  async function output(command: string, ...args: string[]): Promise<string> {
    const { text } = await server.call('execute', { command, args });
    return (JSON.parse(text) as { output: string }).output.trim();
  }
  const node = (program: string) =>
    output(
      '/opt/toolhive/bin/node',
      '-e',
      `const load = (name) => require('/clients/node_modules/' + name);
      const ca = require('node:fs').readFileSync('/clients/ca.pem');
      (async () => { ${program} })().catch((error) => console.log(error)).finally(() => process.exit());`,
    );
  const python = (program: string) =>
    output('/usr/bin/python3', '-c', `import sys; sys.path.insert(0, '/clients/python')\n${program}`);

  test('undici, with HTTP/2', async () => {
    const text = await node(`
      const { Agent, request } = load('undici');
      const dispatcher = new Agent({ allowH2: true, connect: { ca } });
      console.log(await (await request('https://web.example/', { dispatcher })).body.text());`);

    expect(text).toBe('web.example over 2.0');
  });

  test('axios', async () => {
    const text = await node(`
      const httpsAgent = new (require('node:https').Agent)({ ca });
      console.log((await load('axios').get('https://web.example/', { httpsAgent })).data);`);

    expect(text).toBe('web.example over 1.1');
  });

  test('gRPC over TLS', async () => {
    const text = await node(`
      const grpc = load('@grpc/grpc-js');
      const client = new grpc.Client('rpc.example:443', grpc.credentials.createSsl(ca));
      const same = (bytes) => bytes;
      console.log(await new Promise((resolve, reject) =>
        client.makeUnaryRequest('/greeter/Hello', same, same, Buffer.from('you'), (error, bytes) =>
          error ? reject(error) : resolve(String(bytes)))));`);

    expect(text).toBe('hello you');
  });

  test('PostgreSQL, on an allowed port', async () => {
    const text = await node(`
      const client = new (load('pg').Client)({ host: 'db.example', user: 'u', database: 'd', ssl: false });
      await client.connect();
      console.log((await client.query('SELECT greeting')).rows[0].greeting);`);

    expect(text).toBe('hello from a database');
  });

  test('Redis, on an allowed port', async () => {
    const text = await node(`
      const { Redis } = load('ioredis');
      const client = new Redis({ host: 'db.example', enableReadyCheck: false, disableClientInfo: true });
      console.log(await client.ping());`);

    expect(text).toBe('PONG');
  });

  test.runIf(hasPip)('requests', async () => {
    const text = await python(
      `import requests; print(requests.get('https://web.example/', verify='/clients/ca.pem').text)`,
    );

    expect(text).toBe('web.example over 1.1');
  });

  test.runIf(hasPip)('httpx, with HTTP/2', async () => {
    const text = await python(`
import httpx, ssl
context = ssl.create_default_context(cafile='/clients/ca.pem')
with httpx.Client(http2=True, verify=context) as client:
    print(client.get('https://web.example/').text)`);

    expect(text).toBe('web.example over 2.0');
  });

  test.runIf(hasGo)('net/http of Go, with its own resolver', async () => {
    expect(await output('/clients/go-client', 'https://web.example/')).toBe('web.example over 2.0');
    expect(await output('/clients/go-client', 'http://web.example/')).toBe('web.example over 1.1');
    expect(await output('/clients/go-client', 'https://other.test/')).toContain('no such host');
  });

  test.runIf(hasJava)('HttpClient of Java', async () => {
    const java = (url: string) =>
      output('/clients/java/bin/java', '-Xmx64m', '-XX:+UseSerialGC', '-cp', '/clients', 'Client', url);

    expect(await java('https://web.example/')).toBe('web.example over 2.0');
    expect(await java('http://web.example/')).toBe('web.example over 1.1');
    expect(await java('https://other.test/')).toContain('ConnectException');
  });
});

interface Certificates {
  web: ReturnType<typeof selfSigned>;
  rpc: ReturnType<typeof selfSigned>;
}

/** What listens on the hosts, as a program: HTTP/1.1 and HTTP/2, gRPC, and enough of PostgreSQL and Redis for a query. */
function services(modules: string, { web, rpc }: Certificates): string {
  return `
const http = require('node:http'), http2 = require('node:http2'), net = require('node:net');
const grpc = require(${JSON.stringify(join(modules, '@grpc/grpc-js'))});
const [webHost, rpcHost] = process.argv.slice(1);
const answer = (request, response) =>
  response.end((request.headers[':authority'] ?? request.headers.host) + ' over ' + request.httpVersion);

const redis = net.createServer((socket) => {
  socket.on('error', () => {}).on('data', (chunk) => {
    for (const _command of String(chunk).matchAll(/\\*\\d+\\r\\n/g)) socket.write('+PONG\\r\\n');
  });
});

const message = (type, ...parts) => {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
};
const ready = message('Z', 'I');
const text = 'hello from a database';
const row = [
  message('T', [0, 1], 'greeting\\0', [0, 0, 0, 0, 0, 0, 0, 0, 0, 25, 255, 255, 255, 255, 255, 255, 0, 0]),
  message('D', [0, 1, 0, 0, 0, text.length], text),
  message('C', 'SELECT 1\\0'),
  ready,
];
const postgres = net.createServer((socket) => {
  let hasStarted = false;
  socket.on('error', () => {}).on('data', (chunk) => {
    if (!hasStarted) socket.write(Buffer.concat([message('R', [0, 0, 0, 0]), ready]));
    else if (chunk[0] === 81) socket.write(Buffer.concat(row));
    hasStarted = true;
  });
});

const rpc = new grpc.Server();
rpc.register('/greeter/Hello', (call, done) => done(null, Buffer.concat([Buffer.from('hello '), call.request])),
  (bytes) => bytes, (bytes) => bytes, 'unary');
const credentials = grpc.ServerCredentials.createSsl(null,
  [{ private_key: Buffer.from(${JSON.stringify(rpc.key)}), cert_chain: Buffer.from(${JSON.stringify(rpc.certificate)}) }]);

const secure = { key: ${JSON.stringify(web.key)}, cert: ${JSON.stringify(web.certificate)}, allowHTTP1: true };
const listening = [[http.createServer(answer), 80], [http2.createSecureServer(secure, answer), 443], [redis, 6379], [postgres, 5432]]
  .map(([server, port]) => new Promise((resolve) => server.listen(port, webHost, resolve)));
const bound = new Promise((resolve, reject) =>
  rpc.bindAsync(rpcHost + ':443', credentials, (error) => (error ? reject(error) : resolve())));
Promise.all([...listening, bound]).then(() => console.log('ready'));
`;
}
