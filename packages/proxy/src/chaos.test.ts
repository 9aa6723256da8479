// @suite faults
import { connect } from 'node:net';
import { chaosTimeoutMs, openChaos } from '@toolhive/runtime/testing/chaos';
import type { Chaos } from '@toolhive/runtime/testing/chaos';
import { describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { ScriptedServer } from './testing/scripted-server.ts';
import { RawSession, openTestProxy, postModern } from './testing/test-proxy.ts';
import type { TestProxy } from './testing/test-proxy.ts';
import type { ProxyOptions } from './proxy.ts';

const never = new AbortController().signal;

/** What servers write that is no answer to anything. */
const noise = [
  'not JSON\n',
  '{"jsonrpc":"2.0","id":1',
  '{"jsonrpc":"2.0","id":99999,"result":{}}\n',
  '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n',
  '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1}}\n',
  '{"jsonrpc":"2.0","id":"q","method":"roots/list"}\n',
  '[]\n',
  'null\n',
];

describe('chaos in the proxy', () => {
  const kinds: [string, Partial<ProxyOptions>][] = [
    ['a stdio server for all sessions', { transport: 'stdio', sessions: 'shared' }],
    ['a stdio server for each session', { transport: 'stdio', sessions: 'own' }],
    ['an HTTP server', { transport: 'streamable-http' }],
  ];
  test.each(kinds)(
    'closing anything at any time in front of %s causes no fault',
    async (_kind, options) => {
      proves('security.network.contained');
      const chaos = openChaos(40);

      const played = await chaos.rounds(() => playRound(chaos, options));

      // Faults that nothing has caught end the run.
      expect(played).toBeGreaterThan(0);
    },
    chaosTimeoutMs,
  );
});

/** One proxy, a few things that clients do, and everything that can end meanwhile. */
async function playRound(chaos: Chaos, options: Partial<ProxyOptions>): Promise<void> {
  await using opened = await openTestProxy(options);
  const servers: ScriptedServer[] = [];
  const start = async (): Promise<ScriptedServer> => {
    const server = new ScriptedServer(`server ${servers.length}`);
    servers.push(server);
    return server;
  };
  const connectServer = async (): Promise<unknown> =>
    options.transport === 'stdio'
      ? opened.proxy.connect(await start(), start, never)
      : opened.connect('echo');
  await connectServer();
  const session = await RawSession.open(opened.url);
  const over = new AbortController();
  const settled: Promise<unknown>[] = [];
  /** Whatever comes of it, in the end something does. */
  const track = (work: () => Promise<unknown>) => (): void => {
    settled.push(work().catch(() => {}));
  };
  const drain = async (response: Response): Promise<unknown> => response.text();
  const call = (name: string, given: object = {}) =>
    track(async () => drain(await session.postCall(chaos.pick(5), name, given)));

  await chaos.atRandomTurns(
    [
      call('instance'),
      call('hold'),
      call('ask', { method: 'roots/list' }),
      call('say', { method: 'notifications/message', params: { level: 'info', data: 'x' } }),
      track(async () => drain(await session.get(undefined, over.signal))),
      track(async () => drain(await session.end())),
      track(async () =>
        drain(await postModern(opened.url, 'tools/call', { name: 'instance' }, { signal: over.signal })),
      ),
      track(async () => drain(await postModern(opened.url, 'tools/list', {}, { signal: over.signal }))),
      track(async () =>
        drain(
          await postModern(
            opened.url,
            'subscriptions/listen',
            { notifications: { toolsListChanged: true } },
            { signal: over.signal },
          ),
        ),
      ),
      track(async () => RawSession.open(opened.url)),
      () => sendPart(opened, chaos),
      () => chaos.oneOf(servers.length > 0 ? servers : [undefined])?.write(chaos.oneOf(noise)),
      () =>
        chaos.oneOf(servers.length > 0 ? servers : [undefined])?.exit({ code: chaos.pick(3), signal: null }),
      () => over.abort(),
      () => opened.proxy.disconnect('chaos', chaos.pick(4) === 0),
      track(connectServer),
    ],
    60,
  );

  over.abort();
  for (const server of servers) server.exit({ code: 0, signal: null });
  await opened.proxy[Symbol.asyncDispose]();
  await Promise.all(settled);
  expect(opened.faults).toEqual([]);
}

/** A client that sends a part of a request, and goes. */
function sendPart({ url }: TestProxy, chaos: Chaos): void {
  const whole =
    'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"pi';
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
  socket.write(whole.slice(0, chaos.pick(whole.length)));
  chaos.oneOf([
    () => socket.destroy(),
    () => socket.end(),
    () => setImmediate(() => socket.resetAndDestroy()),
  ])();
}
