import { setTimeout as delay } from 'node:timers/promises';
import {
  identityFrom,
  isModern,
  isModernRefusal,
  meta,
  modernRevision,
  newestLegacyRevision,
} from '../protocol.ts';
import type { ClientIdentity, Era } from '../protocol.ts';
import { RefusedRequest } from './link.ts';
import type { ServerLink } from './link.ts';

/** How long a server may be silent on `server/discover` before it is asked in the legacy way as well. */
const probeMs = 3_000;

export interface Greeting {
  client: ClientIdentity;
  /** What is known of the server from an earlier conversation; it is not probed again then. */
  era?: Era;
  signal: AbortSignal;
}

/**
 * Gets to know a server: finds out its era (MCP 2026-07-28, stdio, Backward Compatibility), and initializes it if
 * that wants to be. A server that knows both is talked to in the modern way.
 */
export async function greet(link: ServerLink, { client, era, signal }: Greeting): Promise<void> {
  link.client = client;
  const over = new AbortController();
  try {
    await agree(link, client, era, AbortSignal.any([signal, over.signal]));
  } finally {
    over.abort(new Error('the greeting is over')); // a question that is still open must not be answered later
  }
}

async function agree(
  link: ServerLink,
  client: ClientIdentity,
  era: Era | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (era === 'legacy') return initialize(link, client, signal);
  const discovered = discover(link, signal);
  const first = era === 'modern' ? await discovered : await orSilent(discovered, signal);
  if (first === 'legacy') return initialize(link, client, signal);
  if (first === 'modern') return;
  // It may only be slow to start, and know no other way: whatever succeeds first tells.
  await firstOf(initialize(link, client, signal), requireModern(discovered));
}

async function requireModern(discovered: Promise<Era>): Promise<void> {
  if ((await discovered) === 'legacy') throw new Error('the server knows no server/discover');
}

async function orSilent(discovered: Promise<Era>, signal: AbortSignal): Promise<Era | 'silent'> {
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
async function firstOf(one: Promise<void>, other: Promise<void>): Promise<void> {
  try {
    await Promise.any([one, other]);
  } catch {
    await one;
  }
}

async function discover(link: ServerLink, signal: AbortSignal): Promise<Era> {
  const _meta = modernMeta({ protocolVersion: modernRevision, capabilities: {} });
  try {
    link.become('modern', identityFrom(await link.request('server/discover', { _meta }, signal)));
    return 'modern';
  } catch (error) {
    if (!(error instanceof RefusedRequest)) throw error;
    if (!isModernRefusal(error.error)) return 'legacy';
    const { supported } = (error.error.data ?? {}) as { supported?: unknown };
    throw new Error(`the server speaks no revision that is known here, only ${String(supported)}`, {
      cause: error,
    });
  }
}

async function initialize(link: ServerLink, client: ClientIdentity, signal: AbortSignal): Promise<void> {
  const { protocolVersion, capabilities, clientInfo } = client;
  const revision = isModern(protocolVersion) ? newestLegacyRevision : protocolVersion;
  const params = { protocolVersion: revision, capabilities, clientInfo };
  link.become('legacy', identityFrom(await link.request('initialize', params, signal)));
  link.notify('{"jsonrpc":"2.0","method":"notifications/initialized"}');
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
