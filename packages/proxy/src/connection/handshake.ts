import { setTimeout as delay } from 'node:timers/promises';
import {
  identityFrom,
  isModern,
  isModernDiscovery,
  isModernRefusal,
  legacyVersions,
  modernMeta,
  modernVersion,
  newestLegacyVersion,
} from '../protocol/protocol.ts';
import type { ClientIdentity, ProtocolGeneration, ServerIdentity } from '../protocol/protocol.ts';
import { ownMessage } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { RefusedRequest } from './connection.ts';
import type { ServerConnection } from './connection.ts';

/** How long the handshake of a further connection may take. */
export const handshakeMs = 60_000;

export interface HandshakeOptions {
  client: ClientIdentity;
  /** Known from an earlier connection, so no detection is necessary. */
  generation?: ProtocolGeneration | undefined;
  /** How long the server may not answer `server/discover` before `initialize` is sent as well. */
  probeMs: number;
  signal: AbortSignal;
}

/**
 * Finds out which protocol versions a server supports (MCP 2026-07-28, stdio, Backward Compatibility), and initializes
 * a legacy server. A server that supports both generations is used as a modern one.
 */
export async function performHandshake(
  connection: ServerConnection,
  { signal, ...options }: HandshakeOptions,
): Promise<void> {
  connection.client = options.client;
  const over = new AbortController();
  try {
    const found = await negotiate(connection, { ...options, signal: AbortSignal.any([signal, over.signal]) });
    connection.establish(found.generation, found.identity);
  } finally {
    over.abort(new Error('the handshake is over')); // the other request must not be answered later
  }
  if (connection.generation === 'legacy')
    connection.notify(ownMessage({ method: 'notifications/initialized' }));
}

/** The result of a handshake. */
interface Found {
  generation: ProtocolGeneration;
  identity: ServerIdentity;
}

async function negotiate(
  connection: ServerConnection,
  { client, generation, probeMs, signal }: HandshakeOptions,
): Promise<Found> {
  if (generation === 'legacy') return initialize(connection, client, signal);
  const discovered = discover(connection, client, signal);
  const first = generation === 'modern' ? await discovered : await orSilent(discovered, probeMs, signal);
  if (first === 'legacy') return initialize(connection, client, signal);
  if (first !== 'silent') return first;
  // The server may only be slow to start. In that case, it receives both requests.
  return lastOf(initialize(connection, client, signal), requireModern(discovered), signal);
}

async function requireModern(discovered: Promise<Found | 'legacy'>): Promise<Found> {
  const found = await discovered;
  if (found === 'legacy') throw new Error('the server does not support server/discover');
  return found;
}

async function orSilent(
  discovered: Promise<Found | 'legacy'>,
  probeMs: number,
  signal: AbortSignal,
): Promise<Found | 'legacy' | 'silent'> {
  const over = new AbortController();
  const silence = delay(probeMs, 'silent' as const, { signal: AbortSignal.any([signal, over.signal]) });
  try {
    return await Promise.race([discovered, silence]);
  } finally {
    over.abort();
    silence.catch(() => {}); // aborted above
  }
}

/** How long a server that answered `server/discover` may take to answer `initialize`, which was sent later. */
const settleMs = 1_000;

/**
 * Returns the legacy result if `initialize` succeeds: a server of both generations then regards the connection as a legacy
 * one, because that was the last request. If both fail, throws why `initialize` did.
 */
async function lastOf(legacy: Promise<Found>, modern: Promise<Found>, signal: AbortSignal): Promise<Found> {
  const unlessLegacy = modern.then(async (found) => {
    await delay(settleMs, undefined, { signal });
    return found;
  });
  try {
    return await Promise.any([legacy.catch(() => modern), unlessLegacy]);
  } catch {
    return await legacy;
  }
}

async function discover(
  connection: ServerConnection,
  { clientInfo }: ClientIdentity,
  signal: AbortSignal,
): Promise<Found | 'legacy'> {
  const _meta = modernMeta({ protocolVersion: modernVersion, capabilities: {}, clientInfo });
  try {
    const result = await connection.request('server/discover', { _meta }, signal);
    return isModernDiscovery(result) ? { generation: 'modern', identity: identityFrom(result) } : 'legacy';
  } catch (error) {
    if (!(error instanceof RefusedRequest)) throw error;
    if (!isModernRefusal(error.error)) return 'legacy';
    const { supported } = (error.error.data ?? {}) as { supported?: unknown };
    throw new Error(`the server supports no known protocol version, only ${String(supported)}`, {
      cause: error,
    });
  }
}

/** The name of a client that has not given one, which `initialize` requires. */
const unnamed = { name: 'unknown', version: '0' };

async function initialize(
  connection: ServerConnection,
  client: ClientIdentity,
  signal: AbortSignal,
): Promise<Found> {
  const params = greetingParams(client);
  try {
    return await begin(connection, params, signal);
  } catch (error) {
    for (const protocolVersion of olderVersions(error, params.protocolVersion)) {
      const found = await begin(connection, { ...params, protocolVersion }, signal).catch(() => undefined);
      if (found !== undefined) return found;
      signal.throwIfAborted();
    }
    throw error;
  }
}

async function begin(connection: ServerConnection, params: object, signal: AbortSignal): Promise<Found> {
  const result = await connection.request('initialize', { ...params }, signal);
  return { generation: 'legacy', identity: identityFrom(result) };
}

const aboutVersion = /protocol[\s_-]?version|unsupported version|version (?:is )?not supported/i;

/**
 * The versions to ask for, the newest first, if a server refuses a newer one. It should name the version that it supports
 * instead (MCP 2025-11-25, Lifecycle, Version Negotiation).
 */
function olderVersions(error: unknown, refused: string): string[] {
  if (!(error instanceof RefusedRequest) || !aboutVersion.test(error.message)) return [];
  return legacyVersions.filter((version) => version < refused).toReversed();
}

function greetingParams({ protocolVersion, capabilities, clientInfo = unnamed }: ClientIdentity) {
  const version = isModern(protocolVersion) ? newestLegacyVersion : protocolVersion;
  return { protocolVersion: version, capabilities, clientInfo };
}

/** Returns the request with which a client begins a session. */
export function greetingOf(client: ClientIdentity): Message {
  return ownMessage({ id: 0, method: 'initialize', params: { ...greetingParams(client) } });
}
