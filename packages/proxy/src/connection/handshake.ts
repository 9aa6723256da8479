import { setTimeout as delay } from 'node:timers/promises';
import {
  identityFrom,
  isModern,
  isModernDiscovery,
  isModernRefusal,
  modernMeta,
  modernVersion,
  newestLegacyVersion,
} from '../protocol/protocol.ts';
import type { ClientIdentity, ProtocolGeneration, ServerIdentity } from '../protocol/protocol.ts';
import { ownMessage } from '../jsonrpc/message.ts';
import { RefusedRequest } from './connection.ts';
import type { ServerConnection } from './connection.ts';

export interface HandshakeOptions {
  client: ClientIdentity;
  /** What is known of the server from an earlier conversation; it is not probed again then. */
  generation?: ProtocolGeneration;
  /** How long it may be silent on `server/discover` before it is asked in the legacy way as well. */
  probeMs: number;
  signal: AbortSignal;
}

/**
 * Gets to know a server: finds out its era (MCP 2026-07-28, stdio, Backward Compatibility), and initializes it if
 * that wants to be. A server that knows both is talked to in the modern way.
 */
export async function performHandshake(
  connection: ServerConnection,
  { signal, ...greeting }: HandshakeOptions,
): Promise<void> {
  connection.client = greeting.client;
  const over = new AbortController();
  try {
    const found = await meet(connection, { ...greeting, signal: AbortSignal.any([signal, over.signal]) });
    connection.establish(found.generation, found.identity);
  } finally {
    over.abort(new Error('the greeting is over')); // a question that is still open must not be answered later
  }
  if (connection.generation === 'legacy')
    connection.notify(ownMessage({ method: 'notifications/initialized' }));
}

/** How a server talks, and what it says of itself. */
interface Found {
  generation: ProtocolGeneration;
  identity: ServerIdentity;
}

async function meet(
  connection: ServerConnection,
  { client, generation, probeMs, signal }: HandshakeOptions,
): Promise<Found> {
  if (generation === 'legacy') return initialize(connection, client, signal);
  const discovered = discover(connection, signal);
  const first = generation === 'modern' ? await discovered : await orSilent(discovered, probeMs, signal);
  if (first === 'legacy') return initialize(connection, client, signal);
  if (first !== 'silent') return first;
  // It may only be slow to start, and know no other way: whatever succeeds first tells.
  return firstOf(initialize(connection, client, signal), requireModern(discovered));
}

async function requireModern(discovered: Promise<Found | 'legacy'>): Promise<Found> {
  const found = await discovered;
  if (found === 'legacy') throw new Error('the server knows no server/discover');
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
    silence.catch(() => {}); // it is over, which is no news
  }
}

/** What succeeds first; when neither does, why the first one failed. */
async function firstOf(one: Promise<Found>, other: Promise<Found>): Promise<Found> {
  try {
    return await Promise.any([one, other]);
  } catch {
    return await one;
  }
}

async function discover(connection: ServerConnection, signal: AbortSignal): Promise<Found | 'legacy'> {
  const _meta = modernMeta({ protocolVersion: modernVersion, capabilities: {} });
  try {
    const result = await connection.request('server/discover', { _meta }, signal);
    return isModernDiscovery(result) ? { generation: 'modern', identity: identityFrom(result) } : 'legacy';
  } catch (error) {
    if (!(error instanceof RefusedRequest)) throw error;
    if (!isModernRefusal(error.error)) return 'legacy';
    const { supported } = (error.error.data ?? {}) as { supported?: unknown };
    throw new Error(`the server speaks no revision that is known here, only ${String(supported)}`, {
      cause: error,
    });
  }
}

/** What a server is told of a client that does not say who it is: `initialize` requires a name. */
const unnamed = { name: 'unknown', version: '0' };

async function initialize(
  connection: ServerConnection,
  client: ClientIdentity,
  signal: AbortSignal,
): Promise<Found> {
  const { protocolVersion, capabilities, clientInfo = unnamed } = client;
  const revision = isModern(protocolVersion) ? newestLegacyVersion : protocolVersion;
  const params = { protocolVersion: revision, capabilities, clientInfo };
  return {
    generation: 'legacy',
    identity: identityFrom(await connection.request('initialize', params, signal)),
  };
}
