import { describe, expect, test } from 'vitest';
import type { Call } from '../plugins/references/open-api.ts';
import { requestOf } from './request.ts';

const call = (changes: Partial<Call> = {}): Call => ({
  method: 'POST',
  path: '/api/v1beta/groups/{name}',
  operation: {
    operationId: 'changeGroup',
    tags: [],
    summary: 'Change a group',
    parameters: [
      { name: 'name', in: 'path', required: true, schema: {} },
      { name: 'all', in: 'query', required: false, schema: {} },
      { name: 'last-event-id', in: 'header', required: false, schema: {} },
    ],
    responses: {},
  },
  ...changes,
});

function form(fields: Record<string, string>): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries({ server: 'http://127.0.0.1:8080/docs', ...fields }))
    data.set(name, value);
  return data;
}

describe('a request from a form', () => {
  test('goes to the server that was named, with every parameter in its place', () => {
    const request = requestOf(
      call(),
      form({
        token: 'secret',
        'parameter:name': 'a/b',
        'parameter:all': 'true',
        'parameter:last-event-id': '7',
        body: '{"x":1}',
      }),
    );

    expect(request).toEqual({
      url: new URL('http://127.0.0.1:8080/api/v1beta/groups/a%2Fb?all=true'),
      method: 'POST',
      headers: { authorization: 'Bearer secret', 'last-event-id': '7', 'content-type': 'application/json' },
      body: '{"x":1}',
    });
  });

  test('that only reads has no body, and leaves out what was left empty', () => {
    const request = requestOf(call({ method: 'GET' }), form({ 'parameter:name': 'x', 'parameter:all': ' ' }));

    expect(request).toEqual({
      url: new URL('http://127.0.0.1:8080/api/v1beta/groups/x'),
      method: 'GET',
      headers: {},
    });
  });

  test.each([
    [{ server: 'javascript:alert(1)' }, 'The address begins with http:// or https://.'],
    [{ server: '127.0.0.1' }, 'The address begins with http:// or https://.'],
    [{ body: '{' }, 'The body is not JSON.'],
  ])('%j is refused: %s', (fields, reason) => {
    expect(requestOf(call(), form(fields))).toBe(reason);
  });
});
