import { auditedCallTypes } from '@toolhive/contract/audit';
import type { AuditRecord } from '@toolhive/contract/audit';
import { operations } from '@toolhive/contract/operations';
import { expect, test } from 'vitest';
import { actorOf, joined, sentenceOf } from './wording.ts';

const record = (part: Partial<AuditRecord>): AuditRecord => ({
  time: '2026-08-31T10:00:00Z',
  level: 'INFO+2',
  msg: 'audit_event',
  audit_id: 'a',
  type: 'api_call',
  logged_at: '2026-08-31T10:00:00Z',
  outcome: 'success',
  component: 'toolhive-api',
  source: { type: 'local', value: 'socket' },
  subjects: { user: 'Local User: ada' },
  previous: '',
  ...part,
});

const called = (method: string, name?: string): AuditRecord['target'] => ({
  endpoint: '/api/v1beta/x',
  method,
  ...(name === undefined ? {} : { name }),
});

test.each([
  ['created the server memory', { target: called('createWorkload', 'memory') }],
  ['tried to start the server memory', { target: called('startWorkload', 'memory'), outcome: 'failure' }],
  ['started learning for memory', { target: called('startLearning', 'memory') }],
  ['connected the client cursor', { target: called('registerClients', 'cursor') }],
  ['removed the client cursor from a group', { target: called('deleteClientFromGroup', 'cursor') }],
  ['undid the adoption of servers', { target: called('undoAdoption') }],
  [
    'tried to reach 192.168.1.10:443',
    {
      type: 'network_denied',
      outcome: 'denied',
      target: { endpoint: '192.168.1.10:443', method: 'connect' },
    },
  ],
  ['received the secret TOKEN', { type: 'secret_access', target: { method: 'read', name: 'TOKEN' } }],
  [
    'called echo',
    { type: 'mcp_tool_call', target: { method: 'tools/call', name: 'echo', endpoint: '/mcp' } },
  ],
  ['listed the tools', { type: 'mcp_tools_list', target: { method: 'tools/list', endpoint: '/mcp' } }],
  ['changed the roots', { type: 'mcp_roots_list_changed', target: { method: 'x', endpoint: '/mcp' } }],
  ['sent the request tasks/get', { type: 'mcp_request', target: { method: 'tasks/get', endpoint: '/mcp' } }],
  [
    'POST /api/v1beta/workloads',
    { outcome: 'denied', target: { endpoint: '/api/v1beta/workloads', method: 'POST' } },
  ],
  ['lost records', { type: 'audit_gap', outcome: 'error' }],
  ['ofAnotherVersion x', { target: called('ofAnotherVersion', 'x') }],
  ['toString x', { target: called('toString', 'x') }],
] satisfies [string, Partial<AuditRecord>][])('a record reads “%s”', (sentence, part) => {
  expect(sentenceOf(record(part))).toBe(sentence);
});

test('every recorded operation and call has words', () => {
  const isRecorded = ([id, { method }]: [string, { method: string }]): boolean =>
    id === 'readSecret' ||
    (method !== 'GET' && !['writeRecipe', 'checkWorkload', 'previewImport'].includes(id));
  const ids = Object.entries(operations)
    .filter(isRecorded)
    .map(([id]) => id);
  const silent = ids.filter((id) => sentenceOf(record({ target: called(id) })).includes(id));
  const types = [...auditedCallTypes, 'sse_connection', 'network_denied', 'secret_access', 'audit_gap'];
  const unnamed = types.filter((type) => sentenceOf(record({ type })).includes(type));

  expect([...silent, ...unnamed]).toEqual([]);
  expect(ids.length).toBeGreaterThan(40);
});

test('a server makes denied connections, and users and clients make calls', () => {
  expect(actorOf(record({}))).toBe('Local User: ada');
  expect(actorOf(record({ subjects: { user: 'ada' } }))).toBe('ada');
  expect(actorOf(record({ subjects: { client_name: 'cursor' } }))).toBe('cursor');
  expect(actorOf(record({ type: 'network_denied', workload: 'zoo', subjects: { user: 'toolhive' } }))).toBe(
    'zoo',
  );
});

test('the same within a minute is one row with a number, and nothing else is joined', () => {
  const denied = (host: string, at: string): AuditRecord =>
    record({
      type: 'network_denied',
      outcome: 'denied',
      logged_at: at,
      target: { endpoint: host, method: 'connect' },
    });
  const records = [
    denied('a', '2026-08-31T10:00:50Z'),
    denied('a', '2026-08-31T10:00:10Z'),
    denied('b', '2026-08-31T10:00:09Z'),
    denied('a', '2026-08-31T10:00:08Z'),
    denied('a', '2026-08-31T09:59:59Z'),
  ].map((one, index) => ({ id: 9 - index, record: one }));

  expect(joined(records).map(({ id, times }) => [id, times])).toEqual([
    [9, 2],
    [7, 1],
    [6, 1],
    [5, 1],
  ]);
});
