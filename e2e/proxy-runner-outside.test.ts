// @suite e2e (in depth)
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { openIdProvider } from '@toolhive/access/testing/openid-provider';
import { openRemoteServer } from '@toolhive/remote/testing/remote-server';
import { openOtlpReceiver } from '@toolhive/proxy/testing/otlp-receiver';
import { testPort } from '@toolhive/testing/port';
import { describe, expect, test } from 'vitest';
import { connectTo, officialClients } from './testing/mcp.ts';
import { startRunner, startServer } from './testing/proxy-runner.ts';
import { until } from './testing/thv.ts';

/** An authorization server that exchanges every token, and remembers the requests. */
async function openTokenServer() {
  const requests: { form: URLSearchParams; authorization: string | undefined }[] = [];
  const server = createServer((asked, response) => {
    void respond(asked, response);
  });
  const respond = async (asked: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(asked);
    requests.push({ form: new URLSearchParams(body), authorization: asked.headers.authorization });
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        access_token: 'exchanged-token',
        token_type: 'Bearer',
        issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      }),
    );
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    requests,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const kinds = ['legacy', 'modern', 'sse'] as const;

/** A server of a protocol generation, or one that speaks the older transport. Refuses requests without an exchanged token. */
async function openTokenTakingServer(kind: (typeof kinds)[number], issuer: string) {
  const isValid = (authorization: string | undefined): boolean => authorization === 'Bearer exchanged-token';
  if (kind !== 'sse')
    return Object.assign(await openRemoteServer(kind, { issuer, isValid }), { transport: 'streamable-http' });
  const port = await testPort();
  const server = startServer(port, 'sse');
  const seen: IncomingHttpHeaders[] = [];
  const gate = createServer((asked, response) => {
    seen.push(asked.headers);
    if (!isValid(asked.headers.authorization)) return response.writeHead(401).end();
    const { method = '', url = '', headers } = asked;
    const onward = request(
      { host: '127.0.0.1', port, method, path: url, headers: { ...headers, host: `127.0.0.1:${port}` } },
      (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    return asked.pipe(onward);
  });
  await once(gate.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(gate.address() as AddressInfo).port}/sse`,
    transport: 'sse',
    seen,
    async [Symbol.asyncDispose]() {
      gate.closeAllConnections();
      gate.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** The part of a run config that demands tokens of a provider and exchanges them. */
function exchangeOf({ issuer }: { issuer: string }, { url }: { url: string }): object {
  return {
    oidc_config: { issuer, audience: 'toolhive', insecureAllowHTTP: true, allowPrivateIP: true },
    token_exchange_config: { token_url: url, client_id: 'proxy', audience: 'backend' },
  };
}

async function connectWith(url: string, token: string): Promise<AsyncDisposable & { tools: string[] }> {
  const client = new Client({ name: 'toolhive-e2e', version: '1.0.0' });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  const { tools } = await client.listTools();
  return { tools: tools.map(({ name }) => name), [Symbol.asyncDispose]: () => client.close() };
}

describe('the proxy runner', () => {
  test.each(kinds)('exchanges the tokens of clients for tokens of the server: %s', async (kind) => {
    await using provider = await openIdProvider();
    await using tokens = await openTokenServer();
    await using server = await openTokenTakingServer(kind, provider.issuer);
    await using runner = await startRunner(
      {
        transport: server.transport,
        target_port: Number(new URL(server.url).port),
        ...exchangeOf(provider, tokens),
      },
      { TOOLHIVE_TOKEN_EXCHANGE_CLIENT_SECRET: 'the client secret' },
    );
    // The server refuses the proxy itself, which has no token, and is available all the same.
    await until(async () => (await runner.health()).status === 200);
    const before = server.seen.length;
    const token = await provider.sign({ iss: provider.issuer, aud: 'toolhive', sub: 'ada' }, '5m');

    await using client = await connectWith(runner.url, token);

    expect(client.tools.length).toBeGreaterThan(0);
    expect(server.seen.slice(before).map(({ authorization }) => authorization)).toContain(
      'Bearer exchanged-token',
    );
    expect(JSON.stringify(server.seen)).not.toContain(token);
    expect(tokens.requests[0]).toMatchObject({
      authorization: `Basic ${Buffer.from('proxy:the+client+secret').toString('base64')}`,
    });
    expect(Object.fromEntries(tokens.requests[0]?.form ?? [])).toMatchObject({
      audience: 'backend',
      subject_token: token,
    });
    const log = JSON.stringify(runner.lines());
    for (const secret of ['the client secret', 'exchanged-token', token]) expect(log).not.toContain(secret);
  });

  test.each(kinds)('exchanges the tokens of clients for tokens of a remote server: %s', async (kind) => {
    await using provider = await openIdProvider();
    await using tokens = await openTokenServer();
    await using remote = await openTokenTakingServer(kind, provider.issuer);
    await using runner = await startRunner(
      {
        image: undefined,
        transport: remote.transport,
        remote_url: remote.url,
        ...exchangeOf(provider, tokens),
      },
      { TOOLHIVE_TOKEN_EXCHANGE_CLIENT_SECRET: 'the client secret' },
    );
    await until(async () => (await runner.health()).status === 200);
    const before = remote.seen.length;
    const token = await provider.sign({ iss: provider.issuer, aud: 'toolhive', sub: 'ada' }, '5m');

    await using client = await connectWith(runner.url, token);

    expect(client.tools.length).toBeGreaterThan(0);
    const sent = remote.seen
      .slice(before)
      .filter(({ 'mcp-protocol-version': version, authorization }) => version ?? authorization);
    expect(new Set(sent.map(({ authorization }) => authorization))).toEqual(
      new Set(['Bearer exchanged-token']),
    );
    expect(tokens.requests[0]?.form.get('subject_token')).toBe(token);
    // The headers of clients stay here, except those of the protocol.
    for (const headers of sent) expect(Object.keys(headers)).not.toContain('sec-fetch-mode');
    expect(JSON.stringify(remote.seen)).not.toContain(token);
    const refused = await fetch(runner.url, { method: 'POST', body: '{}' });
    expect(refused.status).toBe(401);
    expect(JSON.stringify(runner.lines())).not.toContain('exchanged-token');
  });

  test('a client is not sent to the authorization server of a remote server that refuses an exchanged token', async () => {
    await using provider = await openIdProvider();
    await using tokens = await openTokenServer();
    await using remote = await openRemoteServer('legacy', { issuer: provider.issuer, isValid: () => false });
    await using runner = await startRunner({
      image: undefined,
      remote_url: remote.url,
      ...exchangeOf(provider, tokens),
    });
    await until(async () => (await runner.health()).status === 200);
    const token = await provider.sign({ iss: provider.issuer, aud: 'toolhive', sub: 'ada' }, '5m');

    const response = await fetch(runner.url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: {
          protocolVersion: '2025-06-18',
          capabilities: {},
          clientInfo: { name: 'test', version: '1' },
        },
      }),
    });

    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBeNull();
  });

  test('sends traces and metrics of calls to a collector, and the rest when it ends', async () => {
    await using collector = await openOtlpReceiver();
    const targetPort = await testPort();
    await using _server = startServer(targetPort);
    await using runner = await startRunner({
      target_port: targetPort,
      telemetry_config: {
        endpoint: new URL(collector.endpoint).host,
        insecure: true,
        serviceName: 'echo-proxy',
        samplingRate: 1,
        tracingEnabled: true,
        metricsEnabled: true,
        headers: { 'x-team': 'red' },
      },
    });
    await until(async () => (await runner.health()).status === 200);
    {
      await using client = await connectTo(runner.url);
      await client.call('echo', { message: 'private words' });
    }

    const exited = once(runner.child, 'exit');
    runner.child.kill('SIGTERM');

    expect(await exited).toEqual([0, null]);
    const span = collector.spans.find(({ name }) => name === 'tools/call echo');
    expect(span).toMatchObject({
      attributes: { 'gen_ai.tool.name': 'echo', 'mcp.method.name': 'tools/call' },
      resource: { 'service.name': 'echo-proxy' },
    });
    expect(collector.metrics.map(({ name }) => name)).toContain('mcp.server.operation.duration');
    expect(collector.headers.every((headers) => headers['x-team'] === 'red')).toBe(true);
    expect(JSON.stringify(collector.spans)).not.toContain('private words');
  });

  test('proxies a remote server outside the cluster', async () => {
    await using remote = await openRemoteServer('modern');
    await using runner = await startRunner({ image: undefined, remote_url: remote.url });
    await until(async () => (await runner.health()).status === 200);

    await using client = await connectTo(runner.url);

    expect((await client.tools()).length).toBeGreaterThan(0);
    expect(remote.seen.length).toBeGreaterThan(0);
  });

  test.each(Object.entries(officialClients))(
    'proxies a server that speaks the older HTTP transport: %s',
    async (_name, connect) => {
      const targetPort = await testPort();
      await using _server = startServer(targetPort, 'sse');
      await using runner = await startRunner({ transport: 'sse', target_port: targetPort });
      await until(async () => (await runner.health()).status === 200);

      await using client = await connect(runner.url);

      expect(await client.call('echo', { message: 'hello' })).toMatchObject({ text: 'hello' });
    },
  );

  test('closes open streams and calls after SIGTERM, and ends with exit code 0', async () => {
    const targetPort = await testPort();
    await using _server = startServer(targetPort);
    await using runner = await startRunner({ target_port: targetPort });
    await until(async () => (await runner.health()).status === 200);
    await using client = await connectTo(runner.url);
    await client.tools();
    const pending = client.call('slow', { ms: 600_000 }).then(
      () => 'answered',
      () => 'failed',
    );
    const sent = request(runner.url.replace('/mcp', '/sse'), { headers: { accept: 'text/event-stream' } });
    sent.on('error', () => {}); // the end of the stream is awaited below
    sent.end();
    const [stream] = (await once(sent, 'response')) as [IncomingMessage];
    expect(stream.statusCode).toBe(200);
    const closed = once(stream, 'close');
    stream.on('error', () => {}).resume();

    const exited = once(runner.child, 'exit');
    runner.child.kill('SIGTERM');

    // A proxy that cannot close its connections ends after 9 s with exit code 1.
    expect(await exited).toEqual([0, null]);
    await closed;
    expect(await pending).toBe('failed');
  });
});
