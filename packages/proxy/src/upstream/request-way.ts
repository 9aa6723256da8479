import type { IncomingMessage } from 'node:http';
import { isModernRequest } from '../endpoint/modern-headers.ts';
import { messagesPath } from '../endpoint/sse.ts';
import type { Exchange } from '../middleware/middleware.ts';
import type { ProtocolGeneration } from '../protocol/protocol.ts';

/**
 * How a request gets to an HTTP server:
 *
 * - `bytes`: passed through as it is.
 * - `messages`: the server gets the request itself, and middleware sees its messages.
 * - `shared bridge`: the bridge for all clients translates the request.
 * - `caller bridge`: a bridge with the credentials of the caller translates the request.
 */
export type RequestWay = 'bytes' | 'messages' | 'shared bridge' | 'caller bridge';

/** What decides the way of a request. */
export interface RequestFacts {
  transport: 'sse' | 'streamable-http';
  isRemote: boolean;
  /** Whether other proxies, which share no event streams with this one, may get requests of the same client. */
  isReplicated?: boolean;
  /** Whether the requests of callers go to the server with credentials of the callers. */
  callersAuthenticate: boolean;
  /** Whether the caller has credentials for the server. */
  hasCredentials: boolean;
  /** Whether the generation of the server is known, or the server did not tell it to an authenticated caller. */
  isExamined: boolean;
  /** Whether the client uses another transport or other protocol versions than the server. */
  isForeign: boolean;
  /** Whether the request is for the MCP endpoint. */
  isMcp: boolean;
  /** Whether the request is for something that the server publishes about itself. */
  isMetadata?: boolean;
  /** Whether middleware sees messages. */
  hasMiddleware: boolean;
  /** Whether that middleware changes and refuses nothing. */
  onlyObserves: boolean;
  /** Whether callers are authenticated. */
  hasAccess: boolean;
}

/** Decides the way of a request to a connected server. */
export function wayOf(facts: RequestFacts): RequestWay {
  const isStreamable = facts.transport === 'streamable-http';
  // With authentication, the proxy itself describes how to get access.
  if (facts.isMetadata === true && !facts.isRemote && !facts.hasAccess) return 'bytes';
  const isUnderstood = facts.isExamined && !facts.isForeign;
  // Remote servers get no headers of clients, unless callers authenticate there.
  // A stream of HTTP+SSE and the messages for it must meet in one proxy.
  const isShared = facts.isReplicated === true && !isStreamable;
  if (isUnderstood && !facts.isRemote && !isShared) {
    if (!isGuarded(facts)) return 'bytes';
    if (isStreamable) return 'messages';
  }
  if (!facts.hasCredentials) return 'shared bridge';
  return isUnderstood && isStreamable && facts.callersAuthenticate ? 'messages' : 'caller bridge';
}

/** Whether middleware must see the messages of a request. Sessions belong to principals. */
function isGuarded({ transport, isMcp, hasMiddleware, onlyObserves, hasAccess }: RequestFacts): boolean {
  if (hasAccess) return true;
  // What is not MCP can be passed through unless that would be a way around a rule.
  const isOther = transport === 'streamable-http' && !isMcp;
  return hasMiddleware && !(isOther && onlyObserves);
}

/**
 * Whether a request reads a document at a well-known path (RFC 8615). Such a request has no body, and its path means the
 * same to every server: without dot segments, empty segments, and escapes.
 */
export function isMetadata({
  request: { method, headers },
  path,
}: Pick<Exchange, 'path'> & { request: Pick<IncomingMessage, 'method' | 'headers'> }): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false;
  if (headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined) return false;
  return /^\/\.well-known(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)+$/.test(path);
}

/** The protocol versions of a server. */
interface Generation {
  generation?: ProtocolGeneration | undefined;
  legacy?: unknown;
}

/** Whether the client of a request uses another transport or other protocol versions than the server. */
export function isForeign(
  {
    request,
    path,
    query,
  }: Pick<Exchange, 'path' | 'query'> & {
    request: Pick<IncomingMessage, 'method' | 'headers'>;
  },
  transport: RequestFacts['transport'],
  { generation, legacy }: Generation,
): boolean {
  const isStreamable = path === '/mcp' || (path === '/sse' && request.method === 'POST');
  if (transport === 'sse') return isStreamable;
  if (path === '/sse' || (path === messagesPath && query.includes('session_id='))) return true;
  // A server that tells its generation to authenticated callers only answers each of them for itself.
  if (path !== '/mcp' || generation === undefined) return false;
  const isModern = isModernRequest(request.headers, undefined);
  return isModern ? generation !== 'modern' : generation === 'modern' && legacy === undefined;
}
