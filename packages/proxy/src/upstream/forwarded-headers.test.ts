import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { ownMessage } from '../jsonrpc/message.ts';
import { negotiatedHeaders } from './forwarded-headers.ts';

test.each([
  ['2025-11-25', 'initialize', true],
  ['2025-11-25', 'tools/list', false],
  // This version negotiates nothing, and its servers need the header of every request.
  ['2026-07-28', 'initialize', false],
  [undefined, 'initialize', false],
])('the version %s in the request %s is withheld: %s', (version, method, isWithheld) => {
  const headers = { accept: 'application/json', 'mcp-protocol-version': version };
  const request = { method: 'POST', headers } as unknown as IncomingMessage;

  const replaced = negotiatedHeaders(request, ownMessage({ id: 1, method }));

  expect(Object.hasOwn(replaced, 'mcp-protocol-version')).toBe(isWithheld);
});
