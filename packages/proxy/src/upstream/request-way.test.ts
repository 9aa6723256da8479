import { describe, expect, test } from 'vitest';
import { type RequestFacts, type RequestWay, isForeign, wayOf } from './request-way.ts';

/** A request for the MCP endpoint of a local server that speaks streamable HTTP, without middleware and access rules. */
const plain: RequestFacts = {
  transport: 'streamable-http',
  isRemote: false,
  callersAuthenticate: false,
  hasCredentials: false,
  isExamined: true,
  isForeign: false,
  isMcp: true,
  hasMiddleware: false,
  onlyObserves: false,
  hasAccess: false,
};

const foreign = { isForeign: true };
const other = { isMcp: false };
const observed = { hasMiddleware: true, onlyObserves: true };
const ruled = { hasMiddleware: true };
const protectedServer = { hasAccess: true };
const exchanging = { hasAccess: true, callersAuthenticate: true, hasCredentials: true };
const remote = { isRemote: true };
const remoteForCallers = { ...remote, ...exchanging };
const unknown = { isExamined: false };
const sse = { transport: 'sse' } as const;

const rows: [title: string, facts: Partial<RequestFacts>, way: RequestWay][] = [
  ['a local server without middleware', {}, 'bytes'],
  ['a local server with a foreign client', foreign, 'shared bridge'],
  ['middleware that changes messages', ruled, 'messages'],
  ['middleware that observes', observed, 'messages'],
  ['another path and middleware that observes', { ...observed, ...other }, 'bytes'],
  ['another path and middleware that changes messages', { ...ruled, ...other }, 'messages'],
  ['another path and access rules', { ...observed, ...other, ...protectedServer }, 'messages'],
  ['metadata of a local server with rules', { ...ruled, ...other, isMetadata: true }, 'bytes'],
  ['metadata of a local SSE server', { ...sse, ...ruled, ...other, isMetadata: true }, 'bytes'],
  ['metadata and access rules', { ...protectedServer, ...other, isMetadata: true }, 'messages'],
  ['metadata of a remote server', { ...remote, ...other, isMetadata: true }, 'shared bridge'],
  ['access rules', protectedServer, 'messages'],
  ['access rules and a foreign client', { ...protectedServer, ...foreign }, 'shared bridge'],
  ['tokens that are exchanged', exchanging, 'messages'],
  ['tokens that are exchanged, before the examination', { ...exchanging, ...unknown }, 'caller bridge'],
  ['tokens that are exchanged, and a foreign client', { ...exchanging, ...foreign }, 'caller bridge'],
  ['a remote server', remote, 'shared bridge'],
  ['a remote server and another path', { ...remote, ...other }, 'shared bridge'],
  ['a remote server at which callers authenticate', remoteForCallers, 'messages'],
  ['such a server before the examination', { ...remoteForCallers, ...unknown }, 'caller bridge'],
  ['such a server and a foreign client', { ...remoteForCallers, ...foreign }, 'caller bridge'],
  [
    'such a server and a caller without credentials',
    { ...remoteForCallers, hasCredentials: false },
    'shared bridge',
  ],
  ['a local SSE server without middleware', sse, 'bytes'],
  ['a local SSE server with middleware', { ...sse, ...ruled }, 'shared bridge'],
  ['a local SSE server, another path, and observers', { ...sse, ...observed, ...other }, 'shared bridge'],
  ['a local SSE server with exchanged tokens', { ...sse, ...exchanging }, 'caller bridge'],
  ['a remote SSE server at which callers authenticate', { ...sse, ...remoteForCallers }, 'caller bridge'],
];

describe('the way of a request', () => {
  test.each(rows)('%s', (_title, facts, way) => {
    expect(wayOf({ ...plain, ...facts })).toBe(way);
  });

  const names = Object.keys(plain).filter((name) => name !== 'transport');
  const all = [plain, { ...plain, ...sse }].flatMap((start) =>
    names.reduce<RequestFacts[]>(
      (found, name) => found.flatMap((facts) => [false, true].map((value) => ({ ...facts, [name]: value }))),
      [start],
    ),
  );

  test('is never around access rules, credentials, or rules of middleware', () => {
    const passed = all.filter((facts) => wayOf(facts) === 'bytes');

    expect(all).toHaveLength(1024);
    expect(passed.some(({ hasAccess }) => hasAccess)).toBe(false);
    expect(passed.some(({ isRemote }) => isRemote)).toBe(false);
    expect(passed.some(({ hasMiddleware, onlyObserves }) => hasMiddleware && !onlyObserves)).toBe(false);
  });

  test('gives a remote server the request of a client only with credentials of the caller', () => {
    const direct = all.filter((facts) => facts.isRemote && wayOf(facts) === 'messages');

    expect(direct.length).toBeGreaterThan(0);
    expect(
      direct.every(({ callersAuthenticate, hasCredentials }) => callersAuthenticate && hasCredentials),
    ).toBe(true);
  });

  test('shares no bridge between callers with credentials', () => {
    expect(all.some((facts) => facts.hasCredentials && wayOf(facts) === 'shared bridge')).toBe(false);
  });
});

const modern = { 'mcp-protocol-version': '2026-07-28' };

describe('a client is foreign', () => {
  test.each([
    ['at /mcp of an SSE server', { path: '/mcp' }, 'sse', 'legacy', true],
    ['at /sse with POST of an SSE server', { path: '/sse', method: 'POST' }, 'sse', 'legacy', true],
    ['not at /sse of an SSE server', { path: '/sse' }, 'sse', 'legacy', false],
    ['at /sse of a streamable server', { path: '/sse' }, 'streamable-http', 'legacy', true],
    ['not at another path', { path: '/hook' }, 'streamable-http', 'modern', false],
    ['with a legacy request to a modern server', { path: '/mcp' }, 'streamable-http', 'modern', true],
    ['not with a legacy request to a legacy server', { path: '/mcp' }, 'streamable-http', 'legacy', false],
    [
      'with a modern request to a legacy server',
      { path: '/mcp', headers: modern },
      'streamable-http',
      'legacy',
      true,
    ],
    [
      'not with a modern request to a modern server',
      { path: '/mcp', headers: modern },
      'streamable-http',
      'modern',
      false,
    ],
    ['not while the generation is unknown', { path: '/mcp' }, 'streamable-http', undefined, false],
  ] as const)('%s', (_title, { path, ...request }, transport, generation, expected) => {
    const exchange = { path, query: '', request: { method: 'GET', headers: {}, ...request } };

    expect(isForeign(exchange, transport, { generation })).toBe(expected);
  });
});
