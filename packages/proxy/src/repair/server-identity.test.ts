import { expect, test } from 'vitest';
import { ScriptedServer } from '../testing/scripted-server.ts';
import { RawSession, openTestProxy } from '../testing/test-proxy.ts';
import { readableResult } from './results.ts';

const version = { protocolVersion: '2025-06-18' };

async function initializeThrough(result: object): Promise<unknown> {
  await using test = await openTestProxy({ repairsResults: true });
  const server = new ScriptedServer('odd', {
    initialize: (self, { id }) => self.send({ id, result }),
  });
  await test.proxy.connect(server, async () => server, AbortSignal.timeout(10_000));
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
  const response = await new RawSession(test.url).post({ id: 0, method: 'initialize', params });
  return ((await response.json()) as { result: unknown }).result;
}

test.each<[string, object, object]>([
  [
    'null for everything',
    { ...version, capabilities: null, serverInfo: null, instructions: null },
    { ...version, serverInfo: { name: 'unknown', version: 'unknown' } },
  ],
  [
    'no version of the server',
    { ...version, serverInfo: { name: 'a' } },
    { serverInfo: { name: 'a', version: 'unknown' } },
  ],
  [
    'a number as the version',
    { ...version, serverInfo: { name: 'a', version: 2 }, capabilities: {} },
    { serverInfo: { name: 'a', version: '2' } },
  ],
  [
    'flags and lists as capabilities',
    {
      ...version,
      serverInfo: { name: 'a', version: '1' },
      capabilities: { tools: true, prompts: null, resources: [], logging: false },
    },
    { capabilities: { tools: {}, resources: {} } },
  ],
])('clients can read the information of a server with %s', async (_what, said, read) => {
  const through = await initializeThrough(said);

  expect(through).toMatchObject(read);
  expect(through).not.toHaveProperty('instructions');
  expect(through).not.toHaveProperty('capabilities.prompts');
  expect(readableResult('initialize', said)).toMatchObject(read);
});

test('healthy information of a server stays the same object', () => {
  const said = { ...version, serverInfo: { name: 'a', version: '1' }, capabilities: { tools: {} } };

  expect(readableResult('initialize', said)).toBe(said);
});

test.each([
  [{ capabilities: {} }, 'the protocol version is missing'],
  [{ protocolVersion: 20250618, capabilities: {} }, 'the protocol version is not a string'],
])('the error for %j names the fault', async (said, fault) => {
  await expect(initializeThrough(said)).rejects.toThrow(fault);
});
