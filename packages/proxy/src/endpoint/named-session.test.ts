import { describe, expect, test } from 'vitest';
import { openScriptedProxy } from '../testing/scripted-server.ts';
import { RawSession, readEvents } from '../testing/test-proxy.ts';

const events = { accept: 'text/event-stream' };
const log = { method: 'notifications/message', params: { level: 'info', data: 'for this session' } };

describe('GET /sse', () => {
  test.for([
    { by: 'the header', query: () => '', headers: (id: string) => ({ 'mcp-session-id': id }) },
    { by: 'sessionId', query: (id: string) => `?sessionId=${id}`, headers: () => ({}) },
    { by: 'session_id', query: (id: string) => `?session_id=${id}`, headers: () => ({}) },
  ])('opens the stream of the session that $by names', async ({ query, headers }) => {
    await using test = await openScriptedProxy();
    const session = await RawSession.open(test.url);
    const server = await test.serverOf(session);
    const leaving = new AbortController();

    const response = await fetch(`${test.url}/sse${query(session.id)}`, {
      headers: { ...events, ...headers(session.id) },
      signal: leaving.signal,
    });
    server.send(log);

    expect((await readEvents(response).next()).value).toMatchObject(log);
    leaving.abort();
    expect(await session.call('instance')).not.toBe('');
  });

  test('answers 404 for a session that does not exist, so that the client initializes again', async () => {
    await using test = await openScriptedProxy();

    const byHeader = await fetch(`${test.url}/sse`, { headers: { ...events, 'mcp-session-id': 'none' } });
    const byQuery = await fetch(`${test.url}/sse?sessionId=`, { headers: events });

    expect([byHeader.status, byQuery.status]).toEqual([404, 404]);
  });

  test('keeps a session of HTTP+SSE whose stream the client has replaced', async () => {
    await using test = await openScriptedProxy();
    const first = await fetch(`${test.url}/sse`, { headers: events });
    const reader = first.body?.pipeThrough(new TextDecoderStream()).getReader();
    const id = /session_id=(\S+)/.exec(String((await reader?.read())?.value))?.[1] ?? '';
    const post = (message: object): Promise<Response> =>
      fetch(`${test.url}/messages?session_id=${id}`, {
        method: 'POST',
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      });

    const second = await fetch(`${test.url}/sse?session_id=${id}`, { headers: events });
    expect((await reader?.read())?.done).toBe(true);
    await post({ id: 1, method: 'initialize', params: { protocolVersion: '2024-11-05' } });

    expect((await readEvents(second).next()).value).toMatchObject({ id: 1, result: {} });
  });
});
