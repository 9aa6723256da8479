import type { IncomingMessage } from 'node:http';
import type { Message } from '../jsonrpc/message.ts';
import { encoded, nameParameter } from '../protocol/header-values.ts';
import { legacyVersions } from '../protocol/protocol.ts';
import type { ForwardedRequest } from './forwarder.ts';

/** The proxy reads replies, so the server must not compress them. The forwarded body may have another length. */
const replaced = { 'accept-encoding': undefined, 'content-length': undefined };
const replacedOfAuthenticated = { ...replaced, authorization: undefined };

/** Returns the headers that every request to the server replaces. Authenticated callers authenticate to the proxy alone. */
export const replacedHeaders = (isAuthenticated: boolean): ForwardedRequest['replaced'] =>
  isAuthenticated ? replacedOfAuthenticated : replaced;

/**
 * Returns the headers that servers refuse although the client means something else. Before `initialize`, no version has been
 * negotiated (newer versions negotiate nothing), and a client that accepts everything also accepts both media types.
 */
export function negotiatedHeaders(
  { method, headers: { accept, 'mcp-protocol-version': version } }: IncomingMessage,
  message: Message | undefined,
): ForwardedRequest['replaced'] {
  const acceptsAll = accept === undefined || /(?:^|,)\s*\*\/\*/.test(accept);
  const isEarly =
    message?.value.method === 'initialize' && (legacyVersions as readonly unknown[]).includes(version);
  return {
    ...(isEarly ? { 'mcp-protocol-version': undefined } : {}),
    ...(acceptsAll && method === 'POST' ? { accept: 'application/json, text/event-stream' } : {}),
    ...(acceptsAll && method === 'GET' ? { accept: 'text/event-stream' } : {}),
  };
}

/** Returns the value of the header `Mcp-Name` for a message. */
export function nameOf({ value: { method = '', params } }: Message): string | undefined {
  const name = params?.[nameParameter(method) ?? ''];
  return typeof name === 'string' ? encoded(name) : undefined;
}
