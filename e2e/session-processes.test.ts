import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { askableClients } from './testing/mcp.ts';

import type { User } from './testing/thv.ts';
import { openUsedHomes } from './testing/used-homes.ts';

// Which sessions share a server process, as a user and the clients notice.

let user: User;
let script: string;

beforeAll(async () => {
  user = await openUsedHomes().take();
  script = join(user.home, 'server.js');
  await writeFile(script, server('one'));
});
afterAll(() => user?.[Symbol.asyncDispose]());

/** A server with read-only tools: one says in which process it runs, and one asks the client. */
const server = (version: string) => `
// ${version}
const tool = (name) => ({ name, inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } });
const send = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
const process_ = Math.random().toString(36).slice(2);
let asked;
const results = {
  initialize: () => ({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'node', version: '1' } }),
  'tools/list': () => ({ tools: [tool('process'), tool('ask')] }),
  'tools/call': ({ id, params }) => {
    if (params.name === 'process') return { content: [{ type: 'text', text: process_ }] };
    asked = id;
    send({ id: 'q', method: 'elicitation/create', params: { message: 'name?', requestedSchema: { type: 'object', properties: {} } } });
  },
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  if (message.id === 'q') return send({ id: asked, result: { content: [{ type: 'text', text: JSON.stringify(message.result ?? message.error) }] } });
  if (message.id === undefined) return;
  const result = (results[message.method] ?? (() => ({})))(message);
  if (result !== undefined) send({ id: message.id, result });
});
`;

/** Starts the server, and returns the URL. */
async function run(name: string, ...flags: string[]): Promise<string> {
  const stdout = await user.mustThv('run', '--name', name, '--permission-profile', 'none', ...flags, script);
  return /http:\S+/.exec(stdout)?.[0] ?? '';
}

/** The processes of two clients at once. */
async function processesAt(url: string): Promise<string[]> {
  await using one = await askableClients.legacy(url);
  await using two = await askableClients.legacy(url);
  return [(await one.call('process')).text, (await two.call('process')).text];
}

async function workload(name: string): Promise<{ sessions: string; session_processes?: string }> {
  return JSON.parse((await user.api('GET', `/api/v1beta/workloads/${name}`)).text);
}

test('sessions share a process by default if all tools are read-only, and the user sees why', async () => {
  proves('run.sessions.auto', 'run.sessions.reason');
  const url = await run('shared');

  const [one, two] = await processesAt(url);

  expect(two).toBe(one);
  const why = 'sessions share a process, because all its tools are read-only';
  expect(await workload('shared')).toMatchObject({ sessions: 'auto', session_processes: why });
  expect(await user.mustThv('list', '--sessions')).toContain(why);
});

test('a server that asks its client has separate processes from then on, also after a restart, but not for a new workload', async () => {
  proves('run.sessions.learned');
  const url = await run('asking');
  await using client = await askableClients.legacy(url);
  const { text } = await client.call('ask');
  const [one, two] = await processesAt(url);
  const why = 'a process for each session, because the server asked its client for input';

  await user.mustThv('restart', 'asking');
  const [three, four] = await processesAt(url);
  const restarted = await workload('asking');
  await user.mustThv('rm', 'asking');
  const [five, six] = await processesAt(await run('asking'));

  expect(JSON.parse(text)).toMatchObject({ action: 'accept' });
  expect([two === one, four === three, six === five]).toEqual([false, false, true]);
  expect(restarted.session_processes).toBe(why);
});

test('another version of the server has to show again that it keeps something', async () => {
  proves('run.sessions.learned');
  const url = await run('versioned');
  await using client = await askableClients.legacy(url);
  await client.call('ask');
  const [one, two] = await processesAt(url);

  await writeFile(script, server('two'));
  await user.mustThv('restart', 'versioned');
  const [three, four] = await processesAt(url);

  expect([two === one, four === three]).toEqual([false, true]);
});

test('a workload of an earlier version keeps separate processes', async () => {
  proves('run.sessions.auto');
  await run('current');
  const file = join(user.home, 'earlier.json');
  await user.mustThv('export', 'current', file);
  const { sessions, auto_sessions: isAuto, ...earlier } = JSON.parse(await readFile(file, 'utf8'));
  await user.mustThv('rm', 'current');
  await writeFile(
    file,
    JSON.stringify({ ...earlier, name: 'earlier', base_name: 'earlier', container_name: 'earlier' }),
  );

  const stdout = await user.mustThv('run', '--from-config', file);
  const [one, two] = await processesAt(/http:\S+/.exec(stdout)?.[0] ?? '');

  expect([sessions, isAuto]).toEqual(['own', true]); // an earlier version reads `own`
  expect(two).not.toBe(one);
  expect(await workload('earlier')).toMatchObject({ sessions: 'own' });
});

test('the first process ends while a client has one, and runs again afterwards', async () => {
  const url = await run('resting', '--sessions', 'own');
  const one = await processesOf('resting');
  const client = await askableClients.legacy(url);
  const { text: own } = await client.call('process');
  const before = await workload('resting');

  await expect.poll(() => processesOf('resting')).toBeGreaterThan(one);
  await expect.poll(() => processesOf('resting'), { timeout: 60_000 }).toBe(one);
  const { text: same } = await client.call('process');
  await client[Symbol.asyncDispose]();
  await using next = await askableClients.legacy(url);
  const { text: another } = await next.call('process');

  expect([same === own, another === own]).toEqual([true, false]);
  expect(await workload('resting')).toEqual(before); // it has not failed in between
});

async function processesOf(name: string): Promise<number> {
  const { text } = await user.api('GET', `/api/v1beta/workloads/${name}/usage`);
  return (JSON.parse(text) as { processes: number }).processes;
}
