// @suite e2e (in depth)
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { RawClient, Refused, startInstallation } from './testing/replicas.ts';
import type { Installation, RpcMessage } from './testing/replicas.ts';
import { makeUser, until } from './testing/thv.ts';

const legacyVersions = ['2025-03-26', '2025-06-18', '2025-11-25'];
const versions = [...legacyVersions, '2026-07-28'];

describe.each(['legacy', 'modern'] as const)('several proxies before several %s servers', (mode) => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await startInstallation({ mode });
  });
  beforeEach(() => installation.balancer.choose(undefined));
  afterAll(() => installation[Symbol.asyncDispose]());

  test('serve every client from its own session, whichever proxy gets a request', async () => {
    const clients = await Promise.all(
      [...versions, ...versions].map((version, at) =>
        new RawClient(installation.url, version, `client ${at}`).open(),
      ),
    );

    const told = await Promise.all(
      clients.map(async (client) => {
        const answers = [];
        for (let n = 0; n < 10; n += 1) answers.push(await client.told('whoami'));
        return answers;
      }),
    );

    expect(told.map((answers) => [...new Set(answers.map(({ client }) => client))])).toEqual(
      clients.map(({ name }) => [name]),
    );
    const pods = new Set(told.flat().map(({ pod }) => pod));
    expect(pods.size).toBe(3);
  });

  test('deliver what a client answers while its call waits at another proxy', async () => {
    const { balancer, url } = installation;
    const client = await new RawClient(url, '2025-11-25', 'asked').open();

    const answers = [];
    for (const [asking, answering] of [
      [0, 1],
      [1, 2],
      [2, 0],
    ]) {
      balancer.choose(asking);
      let answered: Promise<unknown> | undefined;
      const onMessage = ({ id, method }: RpcMessage): void => {
        if (method !== 'elicitation/create') return;
        balancer.choose(answering);
        answered = client.post({ id, result: { action: 'accept', content: { from: answering } } });
      };
      const message = { id: asking, method: 'tools/call', params: { name: 'ask', arguments: {} } };
      const { messages } = await client.post(message, onMessage);
      await answered;
      answers.push(messages.at(-1)?.result?.content?.[0]?.text);
    }

    expect(answers.map((text) => JSON.parse(text ?? '{}') as unknown)).toMatchObject(
      [1, 2, 0].map((from) => ({ client: 'asked', answer: { action: 'accept', content: { from } } })),
    );
  });

  test('continue the waiting call of a client without a session at the proxy in which it waits', async () => {
    const { balancer, url } = installation;
    const client = new RawClient(url, '2026-07-28', 'stateless');

    const told = [];
    for (const [asking, answering] of [
      [0, 1],
      [2, 0],
    ]) {
      balancer.choose(asking);
      const { messages } = await client.call('ask');
      const { inputRequests = {}, requestState } = messages[0]?.result ?? {};
      balancer.choose(answering);
      const inputResponses = Object.fromEntries(
        Object.keys(inputRequests as object).map((key) => [key, { action: 'decline' }]),
      );
      told.push(await client.told('ask', {}, { inputResponses, requestState }));
    }

    expect(told).toMatchObject([0, 1].map(() => ({ client: 'stateless', answer: { action: 'decline' } })));
  });

  test('serve a client of the older transport, whose messages reach any proxy', async () => {
    const client = new Client({ name: 'older', version: '1' });
    await client.connect(new SSEClientTransport(new URL('/sse', installation.url)));

    const texts = [];
    for (let n = 0; n < 10; n += 1) {
      const { content } = await client.callTool({ name: 'whoami', arguments: {} });
      texts.push((content as { text: string }[])[0]?.text);
    }
    await client.close();

    expect(texts.map((text) => (JSON.parse(text ?? '{}') as { client?: string }).client)).toEqual(
      texts.map(() => 'older'),
    );
  });

  test('lose only the calls of a proxy that is killed', { timeout: 60_000 }, async () => {
    const clients = await Promise.all(
      versions.map((version, at) => new RawClient(installation.url, version, `client ${at}`).open()),
    );
    const kills: { fromMs: number; toMs: number }[] = [];
    const lost: { atMs: number; error: unknown }[] = [];
    const wrong: unknown[] = [];
    const refused: unknown[] = [];
    let calls = 0;
    const over = new AbortController();

    const call = async (client: RawClient): Promise<void> => {
      while (!over.signal.aborted) {
        const beganMs = performance.now();
        try {
          const { client: name } = await client.told('slow', { ms: 5 });
          if (name !== client.name) wrong.push(name);
          calls += 1;
        } catch (error) {
          if (error instanceof Refused && ![502, 503].includes(error.status)) refused.push(error.message);
          lost.push({ atMs: beganMs, error });
        }
      }
    };
    const calling = clients.flatMap((client) => [call(client), call(client)]);
    for (let at = 0; at < 3; at += 1) {
      const before = calls;
      await until(() => calls > before + 100);
      const fromMs = performance.now();
      installation.proxies[at]?.child.kill('SIGKILL');
      await installation.replace(at);
      kills.push({ fromMs: fromMs - 2_000, toMs: performance.now() + 100 });
    }
    over.abort();
    await Promise.all(calling);

    expect({ wrong, refused }).toEqual({ wrong: [], refused: [] });
    expect(
      lost.filter(({ atMs }) => !kills.some(({ fromMs, toMs }) => atMs >= fromMs && atMs <= toMs)),
    ).toEqual([]);
    // At most one call of each client is on its way at the moment of a kill, to the proxy or through it.
    expect(lost.length).toBeLessThanOrEqual(3 * calling.length);
    expect(calls).toBeGreaterThan(300);
  });
});

test('a stream resumes at another proxy after the end of the first one, also if messages are filtered', async () => {
  const config = { tools_filter: ['progress'] };
  await using installation = await startInstallation({ proxies: 2, servers: 1, config });
  const { balancer, proxies, url } = installation;
  const client = await new RawClient(url, '2025-11-25', 'resuming').open();
  balancer.choose(0);
  const killed = new AbortController();
  const reading = { id: 7, method: 'tools/call', params: { name: 'progress', arguments: { ms: 300 } } };
  const seen: string[] = [];
  await client
    .send(
      'POST',
      JSON.stringify({ jsonrpc: '2.0', ...reading }),
      {},
      {
        onEventId: (id) => {
          seen.push(id);
          proxies[0]?.child.kill('SIGKILL');
        },
      },
    )
    .catch(() => killed.abort());

  balancer.choose(1);
  const resumed: RpcMessage[] = [];
  await until(async () => {
    const { messages } = await client.send('GET', undefined, { 'last-event-id': seen[0] ?? '' });
    resumed.splice(0, resumed.length, ...messages);
    return messages.length > 0;
  });

  expect(killed.signal.aborted).toBe(true);
  expect(resumed).toMatchObject([{ id: 7, result: { content: [{ type: 'text' }] } }]);
});

test('the audit records of several proxies are one chain for each of them, in which a change is found', async () => {
  await using user = await makeUser();
  await using installation = await startInstallation({
    proxies: 2,
    servers: 1,
    config: { audit_config: {} },
  });
  const { balancer, proxies, url } = installation;
  for (const [at, name] of ['first', 'second'].entries()) {
    balancer.choose(at);
    const client = await new RawClient(url, '2025-06-18', `${name} \u202e`).open();
    await client.told('whoami');
  }
  const log = join(user.home, 'proxies.log');
  const verify = async (lines: string[]): Promise<unknown> => {
    await writeFile(log, lines.join('\n'));
    const { code, stdout } = await user.thv('cluster', 'verify-audit', log, '--format', 'json');
    return { code, ...(JSON.parse(stdout) as { chains: object[] }) };
  };
  const lines = proxies.flatMap(({ output }) => output().split('\n'));

  const intact = await verify(lines);
  const changed = await verify(lines.map((line) => line.replace('mcp_initialize', 'mcp_other')));

  expect(intact).toMatchObject({ code: 0, intact: true, chains: [{ first: 1 }, { first: 1 }] });
  expect(changed).toMatchObject({ intact: false });
});

test('a proxy that has to end finishes its calls, and sends further connections elsewhere', async () => {
  const flags = ['--drain-delay', '1', '--drain-timeout', '30'];
  await using installation = await startInstallation({ proxies: 2, servers: 1, flags });
  const { balancer, proxies, url } = installation;
  const [ending] = proxies;
  if (ending === undefined) throw new Error('no proxy');
  const client = await new RawClient(url, '2025-06-18', 'patient').open();
  balancer.choose(0);
  const call = client.told('slow', { ms: 3000 });
  await until(async () => Number((await client.told('whoami'))['calls']) > 2); // the slow call came before

  ending.child.kill('SIGTERM');
  await until(async () => (await ending.health()).status === 503);
  const late = await client.told('whoami');
  balancer.choose(1);
  const elsewhere = await client.told('whoami');

  expect(await call).toMatchObject({ client: 'patient' });
  expect([late, elsewhere]).toMatchObject([{ client: 'patient' }, { client: 'patient' }]);
  await until(() => ending.child.exitCode !== null);
  expect(ending.child.exitCode).toBe(0);
});
