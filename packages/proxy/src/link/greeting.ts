import { setTimeout as delay } from 'node:timers/promises';
import {
  identityFrom,
  isModern,
  isModernDiscovery,
  isModernRefusal,
  meta,
  modernRevision,
  newestLegacyRevision,
} from '../protocol.ts';
import type { ClientIdentity, Era, ServerIdentity } from '../protocol.ts';
import { RefusedRequest } from './link.ts';
import type { ServerLink } from './link.ts';

export interface Greeting {
  client: ClientIdentity;
  /** What is known of the server from an earlier conversation; it is not probed again then. */
  era?: Era;
  /** How long it may be silent on `server/discover` before it is asked in the legacy way as well. */
  probeMs: number;
  signal: AbortSignal;
}

/**
 * Gets to know a server: finds out its era (MCP 2026-07-28, stdio, Backward Compatibility), and initializes it if
 * that wants to be. A server that knows both is talked to in the modern way.
 */
export async function greet(link: ServerLink, { signal, ...greeting }: Greeting): Promise<void> {
  link.client = greeting.client;
  const over = new AbortController();
  try {
    const found = await meet(link, { ...greeting, signal: AbortSignal.any([signal, over.signal]) });
    link.become(found.era, found.identity);
  } finally {
    over.abort(new Error('the greeting is over')); // a question that is still open must not be answered later
  }
  if (link.era === 'legacy') link.notify('{"jsonrpc":"2.0","method":"notifications/initialized"}');
}

/** How a server talks, and what it says of itself. */
interface Found {
  era: Era;
  identity: ServerIdentity;
}

async function meet(link: ServerLink, { client, era, probeMs, signal }: Greeting): Promise<Found> {
  if (era === 'legacy') return initialize(link, client, signal);
  const discovered = discover(link, signal);
  const first = era === 'modern' ? await discovered : await orSilent(discovered, probeMs, signal);
  if (first === 'legacy') return initialize(link, client, signal);
  if (first !== 'silent') return first;
  // It may only be slow to start, and know no other way: whatever succeeds first tells.
  return firstOf(initialize(link, client, signal), requireModern(discovered));
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

async function discover(link: ServerLink, signal: AbortSignal): Promise<Found | 'legacy'> {
  const _meta = modernMeta({ protocolVersion: modernRevision, capabilities: {} });
  try {
    const result = await link.request('server/discover', { _meta }, signal);
    return isModernDiscovery(result) ? { era: 'modern', identity: identityFrom(result) } : 'legacy';
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

async function initialize(link: ServerLink, client: ClientIdentity, signal: AbortSignal): Promise<Found> {
  const { protocolVersion, capabilities, clientInfo = unnamed } = client;
  const revision = isModern(protocolVersion) ? newestLegacyRevision : protocolVersion;
  const params = { protocolVersion: revision, capabilities, clientInfo };
  return { era: 'legacy', identity: identityFrom(await link.request('initialize', params, signal)) };
}

/** The members of `_meta` that describe a client to a modern server. */
export function modernMeta(
  { capabilities, clientInfo }: ClientIdentity,
  logLevel?: string,
): Record<string, unknown> {
  return {
    [meta.protocolVersion]: modernRevision,
    [meta.clientCapabilities]: capabilities,
    ...(clientInfo === undefined ? {} : { [meta.clientInfo]: clientInfo }),
    ...(logLevel === undefined ? {} : { [meta.logLevel]: logLevel }),
  };
}
