import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Access } from '@toolhive/access/access';
import { bounded } from '@toolhive/contract/bounded-read';
import {
  ThvError,
  cancelled,
  forbidden,
  invalid,
  tooLarge,
  tooManyRequests,
  unavailable,
  unsupportedMediaType,
} from '@toolhive/contract/failure';
import { parseJson } from '@toolhive/contract/json-text';
import { apiRequests } from '@toolhive/proxy/byte-budget';
import {
  fromForeignPage,
  hostOfOrigin,
  hostRule,
  isDialled,
  isFromForeignPage,
} from '@toolhive/proxy/host-and-origin';
import type { Principal } from '@toolhive/proxy/principal';
import type { Context, MiddlewareHandler } from 'hono';
import { actsForOwnUser } from './peer-user.ts';
import { sessionsIn } from './ui-sessions.ts';
import type { UiSessions } from './ui-sessions.ts';

/** The largest body that a write may have. */
const maxBodyBytes = 1024 * 1024;
/** How deep its JSON may nest. */
const maxDepth = 32;

/** The default headers of every response: not a page, and no framing, sniffing, or caching. */
export const fixedHeaders = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
} as const;

export const securityHeaders: MiddlewareHandler = async (context, next) => {
  await next();
  for (const [name, value] of Object.entries(fixedHeaders)) {
    if (!context.res.headers.has(name)) context.header(name, value);
  }
};

/**
 * Answers only requests for this listener that no foreign web page has sent. Loopback is not
 * authentication, because every page in the user's browser can reach a loopback address.
 */
export function ownRequestsOnly(listener: { host: string } | object): MiddlewareHandler {
  const isOwnHost = hostRule('host' in listener ? [listener.host] : []);
  return async (context, next) => {
    const host = context.req.header('host') ?? '';
    // A target in absolute form counts for more than the header (RFC 9112, section 3.2.2).
    const address = localAddressOf(context);
    const foreign = [host, new URL(context.req.url).host].find(
      (named) => !isOwnHost(named) && !isDialled(named, address),
    );
    if (foreign !== undefined) {
      throw forbidden(`requests for the host ${JSON.stringify(foreign)} are not allowed`, {
        hint: 'use 127.0.0.1 or localhost',
      });
    }
    const origin = context.req.header('origin');
    // A page can call only its own origin, which is an exact address. Other ports belong to other programs.
    if (origin !== undefined && hostOfOrigin(origin).toLowerCase() !== host.toLowerCase()) {
      throw forbidden(`requests from ${JSON.stringify(origin)} are not allowed`);
    }
    if (isFromForeignPage(context.req.method, context.req.header())) throw forbidden(fromForeignPage);
    await next();
  };
}

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** The address that a caller has connected to. Undefined for a Unix socket, and without a connection. */
const localAddressOf = (context: Context): string | undefined => socketOf(context)?.localAddress;

function socketOf({ env }: Context): Socket | undefined {
  const { incoming } = (env ?? {}) as { incoming?: IncomingMessage }; // from @hono/node-server
  return incoming?.socket;
}

/**
 * Lets requests pass that `access` accepts, and those of browsers that have signed in to the web UI. Every path needs
 * authentication except `signInPath`.
 */
export function authenticated(access: Access, sessions: UiSessions, signInPath: string): MiddlewareHandler {
  return async (context, next) => {
    const { req } = context;
    const authorization = req.header('authorization');
    if (req.path === signInPath && req.method === 'POST') {
      // The code in the body is the credential.
    } else if (authorization === undefined && (await isSignedIn(context, sessions))) {
      context.set('principal', uiPrincipal);
    } else {
      context.set('principal', await access(authorization));
    }
    await next();
  };
}

/** A browser of the user of this daemon, who alone can get a code from its Unix socket. */
export const uiPrincipal: Principal = { id: 'ui', claims: { sub: 'ui' } };

/**
 * A cookie counts only in requests of the page itself, because other ports of this machine are of the same site. It counts only
 * from programs of the user, because the browser also sends it to other ports, where programs of others may listen.
 */
async function isSignedIn(context: Context, sessions: UiSessions): Promise<boolean> {
  const { req } = context;
  if (req.header('sec-fetch-site') !== 'same-origin') return false;
  const found = sessionsIn(req.header('cookie'), req.header('host') ?? '');
  const socket = socketOf(context);
  if (found.length === 0 || (socket !== undefined && !(await actsForOwnUser(socket)))) return false;
  return found.some((session) => sessions.accepts(session));
}

/** How many requests one listener answers: so many at once, and from then on so many a second. */
const burst = 2_000;
const perSecond = 1_000;

/**
 * Refuses requests above the rate limit. All callers of a listener share the limit, because they all
 * come from this machine.
 */
export function rateLimit(now: () => number = () => performance.now()): MiddlewareHandler {
  let allowance = burst;
  let last = now();
  return async (_context, next) => {
    const present = now();
    allowance = Math.min(burst, allowance + ((present - last) / 1000) * perSecond);
    last = present;
    if (allowance < 1) {
      throw tooManyRequests(`more than ${perSecond} requests a second`, { hint: 'try again in a second' });
    }
    allowance--;
    await next();
  };
}

/** Refuses bodies that a web page could send without being asked first (a form or a plain fetch). */
export const bodiesAsJsonOnly: MiddlewareHandler = async ({ req }, next) => {
  const isJson = /^application\/json\s*(;|$)/i.test(req.header('content-type') ?? '');
  if (!isRead(req.method) && hasBody(req.header()) && !isJson) {
    throw unsupportedMediaType('the body must be application/json', {
      hint: 'send the header Content-Type: application/json',
    });
  }
  await next();
};

/** Whether a request has a body (RFC 9112, section 6). */
function hasBody({
  'content-length': length = '0',
  'transfer-encoding': encoding,
}: Record<string, string>): boolean {
  return encoding !== undefined || Number(length) !== 0;
}

/** The body of a request as JSON, within bounds. */
export async function readJson(context: Context): Promise<unknown> {
  const text = await readText(context);
  if (text === '') throw invalid('the body is missing');
  const value = parseJson(text, 'the body', { maxDepth });
  if (/\\u[dD][89a-fA-F]/.test(text) && !isUnicode(value)) {
    throw invalid('the body contains an unpaired surrogate', { hint: 'write surrogates in pairs' });
  }
  return value;
}

async function readText(context: Context): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const { body } = context.req.raw;
  const hold = apiRequests.hold();
  let text = '';
  const excess = (): Error => tooLarge(`the body is larger than ${maxBodyBytes} bytes`);
  try {
    for await (const chunk of body === null ? [] : bounded(body, maxBodyBytes, excess)) {
      if (!hold.grow(chunk.length)) {
        throw unavailable('incomplete requests use all the memory that is available for them', {
          hint: 'try again later',
        });
      }
      text += decoded(decoder, chunk);
    }
  } catch (error) {
    if (error instanceof ThvError) throw error;
    throw cancelled('the body ended before it was whole', { cause: error });
  } finally {
    hold.release();
  }
  return text + decoded(decoder);
}

/** Decodes a chunk. Without a chunk, checks that the last character is complete. */
function decoded(decoder: InstanceType<typeof TextDecoder>, chunk?: Uint8Array): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch (cause) {
    throw invalid('the body is not UTF-8', { cause });
  }
}

/** Half a character cannot be written to any file, nor handed to any process, without becoming another one. */
function isUnicode(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([key, part]) => key.isWellFormed() && isUnicode(part));
}
