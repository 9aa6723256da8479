// @suite e2e (in depth)
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { openNpmRegistry } from '@toolhive/runtime/testing/npm-registry';
import type { NpmRegistry } from '@toolhive/runtime/testing/npm-registry';
import { canMakeNetworks } from '@toolhive/runtime/testing/stand-in-hosts';
import { isInstalled } from '@toolhive/testing/machine';

import { SignJWT, exportJWK, generateKeyPair } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openCompanyNetwork, outside } from './testing/company-network.ts';
import type { CompanyNetwork } from './testing/company-network.ts';
import { makeUser, root, testServer, thvStart, until } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

// A daemon in a network whose only way out is tinyproxy, which alone resolves the names outside.

const base = `https://${outside.host}`;
const plainBase = `http://${outside.host}`;

describe.runIf(canMakeNetworks && isInstalled('tinyproxy'))(
  'behind a corporate proxy (as root, with tinyproxy)',
  () => {
    let network: CompanyNetwork;
    let world: Outside;
    let user: User;

    beforeAll(async () => {
      world = await openOutside();
      network = await openCompanyNetwork(world.serve);
      user = await makeUser({
        program: [...network.enter, process.execPath, ...thvStart],
        env: { ...network.env, npm_config_registry: `${plainBase}/npm/`, TOOLHIVE_SECRETS_PROVIDER: 'none' },
      });
    });
    afterAll(async () => {
      await user?.[Symbol.asyncDispose]();
      await network?.[Symbol.asyncDispose]();
      await world?.[Symbol.asyncDispose]();
    });

    const call = (workload: string, tool: string, given: object = {}): Promise<string> =>
      user.mustThv('mcp', 'call', '--input', JSON.stringify(given), workload, tool);

    test.each([
      ['https', base],
      ['http', plainBase],
    ])('a remote server runs over %s', async (scheme, origin) => {
      await user.mustThv('run', '--name', `remote-${scheme}`, `${origin}/mcp`);

      const answer = await call(`remote-${scheme}`, 'echo');

      expect(answer).toContain('hello from outside');
      const request = scheme === 'https' ? `CONNECT ${outside.host}:443` : `POST ${plainBase}/mcp`;
      expect(await network.asked()).toContain(request);
    });

    test('nothing of this works without the variable', async () => {
      await using other = await makeUser({ program: [...network.enter, process.execPath, ...thvStart] });

      const { code, stderr } = await other.thv('run', `${base}/mcp`);

      expect([code, stderr]).not.toEqual([0, expect.anything()]);
    });

    test('the error of a remote server names the proxy if that refuses', async () => {
      const { code, stderr } = await user.thv('run', '--name', 'refused', `https://${outside.host}:8443/mcp`);

      expect(code).not.toBe(0);
      expect(stderr).toMatch(/the corporate proxy http:\/\/[\d.]+:3128 gives no connection .*: status 403/);
    });

    test('a server is signed in to', async () => {
      const started = user.start(
        'proxy',
        'signed',
        '--target-uri',
        `${base}/protected`,
        '--remote-auth-skip-browser',
      );
      const page = await until(() => /To sign in, open (\S+)/.exec(started.stdout() + started.stderr())?.[1]);

      await network.evaluate(`await fetch(${JSON.stringify(page)})`);

      const { url } = await until(() => world.requests.find(({ token }) => token === 'Bearer access'));
      started.child.kill('SIGTERM');
      await started.ended;
      expect(url).toBe('/protected');
    });

    test('a registry is read', async () => {
      await user.mustThv('config', 'set-registry', `${base}/registry.json`);

      const listed = await user.mustThv('registry', 'list');
      await user.mustThv('config', 'unset-registry');

      expect(listed).toContain('from-outside');
    });

    test('the keys of an identity provider are fetched, and traces are sent', async () => {
      const file = join(user.home, 'token');
      await writeFile(file, await world.sign());
      const telemetry = ['--otel-endpoint', outside.host, '--otel-sampling-rate', '1'];
      const oidc = ['--oidc-issuer', `${base}/idp`, '--oidc-audience', 'toolhive'];
      await user.mustThv('run', '--name', 'guarded', ...oidc, ...telemetry, `${base}/mcp`);
      const { workloads } = JSON.parse((await user.api('GET', '/api/v1beta/workloads')).text) as {
        workloads: { name: string; url: string }[];
      };
      const url = workloads.find(({ name }) => name === 'guarded')?.url ?? '';

      const status = await network.evaluate(askScript(url, await world.sign()));

      expect(status.trim()).toBe('200');
      expect(world.requests.map((request) => request.url)).toContain('/idp/keys');
      await until(() => world.requests.find((request) => request.url === '/v1/traces'));
    });

    describe('a server in the sandbox', () => {
      beforeAll(async () => {
        const profile = join(user.home, 'profile.json');
        const outbound = { allow_host: [outside.host], allow_port: [80, 443] };
        await writeFile(profile, JSON.stringify({ network: { outbound } }));
        await user.mustThv(
          'run',
          '--name',
          'inside',
          '--permission-profile',
          profile,
          testServer,
          '--',
          'execute',
        );
      });

      const fetchInside = async (url: string): Promise<string> => {
        const script = `fetch(${JSON.stringify(url)}).then((r) => r.text()).then(console.log, (e) => console.log(String(e.cause?.code)))`;
        const args = ['-e', `process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'; ${script}`];
        return call('inside', 'execute', { command: '/opt/toolhive/bin/node', args });
      };

      test('is installed', async () => {
        expect(await network.asked()).toContainEqual(expect.stringMatching(`^GET ${plainBase}/npm/`));
      });

      test('reaches the hosts that its rules allow', async () => {
        const [secure, plain] = [await fetchInside(`${base}/text`), await fetchInside(`${plainBase}/text`)];

        expect(secure).toContain('text from outside');
        expect(plain).toContain('text from outside');
        expect(await network.asked()).toContain(`GET ${plainBase}/text`);
      });

      test('does not reach others, although the proxy would', async () => {
        const answer = await fetchInside(`https://${outside.other}/text`);

        expect(answer).not.toContain('from outside');
        expect(await network.asked()).not.toContain(`CONNECT ${outside.other}:443`);
        const decisions = await user.mustThv('network', 'inside');
        expect(decisions).toContain(outside.other);
      });

      test('cannot name another host in a later request of a connection', async () => {
        const script = `
        const socket = require('net').connect(80, '${outside.host}');
        const ask = (host) => socket.write('GET /text HTTP/1.1\\r\\nHost: ' + host + '\\r\\n\\r\\n');
        ask('${outside.host}');
        socket.once('data', () => ask('${outside.other}'));
        socket.on('data', (data) => console.log(String(data))).on('error', () => {});
      `;

        const answer = await call('inside', 'execute', {
          command: '/opt/toolhive/bin/node',
          args: ['-e', script],
        });

        expect(answer).toContain('text from outside');
        expect(answer).toContain('the request is for another host');
        expect(await network.asked()).not.toContainEqual(expect.stringContaining(outside.other));
      });
    });
  },
);

/** Prints the status of a call with a token. */
function askScript(url: string, token: string): string {
  const message = { jsonrpc: '2.0', id: 1, method: 'initialize', params: initialization };
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const request = { method: 'POST', headers, body: JSON.stringify(message) };
  return `const r = await fetch(${JSON.stringify(url)}, ${JSON.stringify(request)}); console.log(r.status); process.exit()`;
}

const initialization = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
};

interface Outside extends AsyncDisposable {
  serve: (request: IncomingMessage, response: ServerResponse) => void;
  requests: { url: string; token: string | undefined }[];
  sign(): Promise<string>;
}

/** Everything outside of the company: servers, a registry, packages, an authorization server, and keys. */
async function openOutside(): Promise<Outside> {
  await using opened = new AsyncDisposableStack();
  const packages = opened.use(await openNpmRegistry([join(root, 'packages/test-servers')]));
  const { publicKey, privateKey } = await generateKeyPair('RS256');
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256' }];
  const requests: Outside['requests'] = [];
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url = '', method, headers } = request;
    requests.push({ url, token: headers.authorization });
    if (url.startsWith('/npm/')) return servePackage(packages, url, response);
    if (url === '/text') return void response.end('text from outside');
    if (url === '/v1/traces') return void response.end();
    if (url === '/protected' && headers.authorization !== 'Bearer access') {
      const challenge = `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource/protected"`;
      return void response.writeHead(401, { 'www-authenticate': challenge }).end();
    }
    if (url === '/mcp' || url === '/protected') {
      return method === 'POST' ? serveMcp(request, response) : void response.writeHead(405).end();
    }
    const document = url.startsWith('/authorize?') ? undefined : documents(keys)[url];
    if (url.startsWith('/authorize?')) {
      const asked = new URL(url, base).searchParams;
      const back = new URL(asked.get('redirect_uri') ?? '');
      back.search = new URLSearchParams({ code: 'code', state: asked.get('state') ?? '' }).toString();
      return void response.writeHead(302, { location: back.href }).end();
    }
    response.writeHead(document === undefined ? 404 : url === '/register' ? 201 : 200, {
      'content-type': 'application/json',
    });
    response.end(JSON.stringify(document ?? {}));
  };
  const everything = opened.move();
  return {
    requests,
    serve: (request, response) => {
      serve(request, response).catch(() => response.destroy());
    },
    sign: () =>
      new SignJWT({ iss: `${base}/idp`, aud: 'toolhive', sub: 'someone' })
        .setProtectedHeader({ alg: 'RS256', kid: 'one' })
        .setExpirationTime('5m')
        .sign(privateKey),
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

const documents = (keys: readonly object[]): Record<string, object> => ({
  '/.well-known/oauth-protected-resource/protected': {
    resource: `${base}/protected`,
    authorization_servers: [base],
  },
  '/.well-known/oauth-authorization-server': {
    issuer: base,
    authorization_endpoint: `${base}/authorize`,
    token_endpoint: `${base}/token`,
    registration_endpoint: `${base}/register`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
  },
  '/register': { client_id: 'someone', redirect_uris: [] },
  '/token': { access_token: 'access', token_type: 'Bearer', expires_in: 3600 },
  '/idp/.well-known/openid-configuration': { issuer: `${base}/idp`, jwks_uri: `${base}/idp/keys` },
  '/idp/keys': { keys },
  '/registry.json': {
    version: '1.0.0',
    last_updated: '2026-01-01T00:00:00Z',
    servers: {
      'from-outside': {
        description: 'A server',
        image: 'example/server:1',
        transport: 'stdio',
        status: 'Active',
        tier: 'Community',
        tools: [],
      },
    },
  },
});

/** A small stateless server. */
async function serveMcp(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
  await once(request, 'end');
  const { id, method, params } = JSON.parse(body) as { id?: number; method: string; params?: object };
  if (id === undefined) return void response.writeHead(202).end();
  const results: Record<string, object> = {
    initialize: {
      ...initialization,
      ...params,
      capabilities: { tools: {} },
      serverInfo: { name: 'far', version: '1' },
    },
    'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: 'hello from outside' }] },
    ping: {},
  };
  const result = results[method];
  const error = { code: -32601, message: 'Method not found' };
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id, ...(result === undefined ? { error } : { result }) }));
}

/** Passes on a request to the registry of packages, whose own address is unknown inside. */
async function servePackage(packages: NpmRegistry, url: string, response: ServerResponse): Promise<void> {
  const answer = await fetch(new URL(url.replace('/npm/', '/'), packages.url));
  const type = answer.headers.get('content-type') ?? '';
  const body = Buffer.from(await answer.arrayBuffer());
  response.writeHead(answer.status, { 'content-type': type });
  response.end(type.includes('json') ? body.toString().replaceAll(packages.url, `${plainBase}/npm/`) : body);
}
