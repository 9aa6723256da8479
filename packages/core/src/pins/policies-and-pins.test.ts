import { testServer } from '../testing/test-core.ts';
import { openChangingRuntime, says } from '../testing/changing-server.ts';
import type { Says } from '../testing/changing-server.ts';
import { expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { openTestApi } from '@toolhive/api/testing';
import type { TestApi } from '@toolhive/api/testing';

// Policies about tools, decided with what the server said when the user approved it.

const user = 'ada';
const named = { params: { name: 'files' } };
const aTool = (name: string, annotations?: object) => ({
  name,
  description: `The tool ${name}.`,
  inputSchema: { type: 'object' },
  ...(annotations === undefined ? {} : { annotations }),
});

const aResource = (uri: string) => ({ uri, name: uri });

test('a server cannot get around a policy by calling a tool read-only after its first use', async () => {
  const said = says({ tools: [aTool('read', { readOnlyHint: true }), aTool('write')] });
  await using api = await open(said, ['permit(principal, action, resource) when { resource.readOnlyHint };']);
  const before = await toolsOf(api);
  said.tools = [
    aTool('read', { readOnlyHint: true }),
    aTool('write', { readOnlyHint: true }),
    aTool('new', { readOnlyHint: true }),
  ];

  const after = await toolsOf(api);
  const calls = [await call(api, 'read'), await call(api, 'write'), await call(api, 'new')];
  const explained = await check(api, 'write');
  await api.client.approveToolPins({ ...named, body: {} });
  const approved = [await toolsOf(api), await call(api, 'write'), await call(api, 'new')];

  expect([before, after]).toEqual([['read'], ['read']]);
  expect(calls).toEqual(['answered', 403, 403]);
  expect(explained.allowed).toBe(false);
  // Two versions of `write` are approved, and only one of them is read-only.
  expect(approved).toEqual([['read', 'new'], 403, 'answered']);
  expect((await check(api, 'new')).allowed).toBe(true);
});

test('a policy about a tool that does not exist is found once the tools are known', async () => {
  const said = says({ tools: [aTool('read')] });
  await using api = await open(said, [
    'permit(principal, action, resource == Tool::"read");',
    'forbid(principal, action == Action::"call_tool",\n  resource == Tool::"wirte");',
    'permit(principal, action, resource) when { resource.readonlyHint };',
  ]);
  const typo = 'policy1, line 2, column 15: the server does not offer Tool::"wirte"';
  const attribute =
    'policy2, line 1, column 44: tools, prompts, and resources have no attribute readonlyHint';
  const mistakes = async (): Promise<string[]> =>
    (await api.client.getWorkloadStatus(named)).status === 'running' ? warnings(api) : [];

  const before = { warnings: await mistakes(), check: (await check(api, 'read')).warnings };
  await toolsOf(api);
  const log = await api.core.logs.read('files', 'proxy', { lines: 50 });
  const after = { warnings: await mistakes(), check: (await check(api, 'read')).warnings };
  const diagnosis = await api.client.diagnoseWorkload(named);
  said.tools = [aTool('read'), aTool('wirte')];
  await toolsOf(api);

  expect(before).toEqual({ warnings: [inWords(attribute)], check: [attribute] });
  expect(after.check.toSorted()).toEqual([typo, attribute]);
  expect(after.warnings.toSorted()).toEqual([inWords(typo), inWords(attribute)]);
  expect(log).toContain('the server does not offer Tool::\\"wirte\\"');
  expect(diagnosis.findings.filter(({ layer }) => layer === 'policies')).toMatchObject([
    { state: 'warning' },
    { state: 'warning' },
  ]);
  expect(await mistakes()).toEqual([expect.stringContaining('changed since'), inWords(attribute)]);
});

test('a resource is decided in every spelling, by the proxy and by the check, also after a restart', async () => {
  proves('security.access.spellings');
  const said = says({ resources: [aResource('file://README.md'), aResource('file:///pub_key')] });
  await using api = await open(said, [
    'permit(principal, action, resource) when { resource has uri && resource.uri like "file://*.md" };',
    'permit(principal, action, resource == Resource::"file____pub_key");',
    'forbid(principal, action, resource) when { resource has uri && resource.uri like "file:///etc/*" };',
  ]);
  const uris = [
    'file://README.md',
    'file://OTHER.md',
    'file:///pub_key',
    'file:///pub.key',
    'file:///notes.md',
    'file:///%6eotes.md',
    'file:///etc/x.md',
    'FILE:///%65tc/x.md',
    'file:///a%2f../etc/x.md',
  ];
  const decide = async (): Promise<unknown[]> => {
    const decisions = [];
    for (const uri of uris)
      decisions.push({ uri, proxy: await read(api, uri), check: await checkResource(api, uri) });
    return decisions;
  };
  await post(api, { method: 'resources/list' });

  const decided = await decide();
  await api.client.stopWorkload(named, { onProgress: () => {} });
  await api.client.startWorkload(named, { onProgress: () => {} });
  const afterwards = await decide();

  const allowed = ['file://README.md', 'file:///pub_key', 'file:///notes.md', 'file:///%6eotes.md'];
  expect(decided).toEqual(
    uris.map((uri) => {
      const isAllowed = allowed.includes(uri);
      return { uri, proxy: isAllowed ? 'answered' : 403, check: isAllowed };
    }),
  );
  expect(afterwards).toEqual(decided);
  expect(said.used).toEqual([...allowed, ...allowed]);
});

const inWords = (mistake: string): string => `WARNING: mistake in the authorization policies, ${mistake}`;

async function warnings(api: TestApi): Promise<string[]> {
  const { workloads } = await api.client.listWorkloads({ query: {} });
  return (workloads.find(({ name }) => name === 'files')?.warnings ?? []).filter((text) =>
    /authorization policies|changed since/.test(text),
  );
}

test('a hint that clients cannot read does not count for policies either', async () => {
  const said = says({
    tools: [
      { ...aTool('read', { readOnlyHint: true }), description: null },
      { ...aTool('write'), annotations: { readOnlyHint: 'true' }, inputSchema: {} },
    ],
  });
  await using api = await open(said, ['permit(principal, action, resource) when { resource.readOnlyHint };']);

  expect(await toolsOf(api)).toEqual(['read']);
  expect([await call(api, 'read'), await call(api, 'write')]).toEqual(['answered', 403]);
});

async function open(said: Says, policies: string[]): Promise<TestApi> {
  const api = await openTestApi({ runtimes: () => [openChangingRuntime(said)] });
  const authz_config = JSON.stringify({ version: '1.0', type: 'cedarv1', cedar: { policies } });
  await api.client.createWorkload(
    { body: { name: 'files', image: testServer, authz_config } },
    { onProgress: () => {} },
  );
  await api.core.workloads.require('files').follow(() => {});
  return api;
}

const check = (api: TestApi, tool: string) =>
  api.client.checkAuthorization({ ...named, body: { principal: user, tool } });

async function checkResource(api: TestApi, resource: string): Promise<boolean> {
  const { allowed } = await api.client.checkAuthorization({ ...named, body: { principal: user, resource } });
  return allowed;
}

function post(api: TestApi, message: object): Promise<Response> {
  const { port } = api.core.workloads.require('files').runConfig;
  return fetch(`http://127.0.0.1:${port}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
  });
}

const call = (api: TestApi, name: string) =>
  ask(api, { method: 'tools/call', params: { name, arguments: {} } });
const read = (api: TestApi, uri: string) => ask(api, { method: 'resources/read', params: { uri } });

/** Whether a request is answered, or the code of the error. */
async function ask(api: TestApi, message: object): Promise<number | 'answered'> {
  const answer = await post(api, message);
  const { error } = (await answer.json()) as { error?: { code: number } };
  return error?.code ?? 'answered';
}

async function toolsOf(api: TestApi): Promise<string[]> {
  const answer = await post(api, { method: 'tools/list' });
  const { result } = (await answer.json()) as { result: { tools: { name: string }[] } };
  return result.tools.map(({ name }) => name);
}
