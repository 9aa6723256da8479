import { extensionNotifications, extensionRequests } from './extensions.ts';
import { readableCapabilities, readableServerInfo } from './server-identity.ts';

/**
 * The two generations of protocol versions. `legacy`: a session starts with `initialize`, and both sides send
 * requests. `modern`: every request is independent, and only clients send requests (MCP 2026-07-28, Versioning,
 * Terminology).
 */
export type ProtocolGeneration = 'legacy' | 'modern';

export const legacyVersions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const;
export const newestLegacyVersion = '2025-11-25';
export const modernVersion = '2026-07-28';
/** Every protocol version that clients may use, the newest first. */
export const protocolVersions: readonly string[] = [modernVersion, ...legacyVersions.toReversed()];

/** Protocol versions are dates, so they can be compared. */
export function isModern(revision: string): boolean {
  return revision >= modernVersion;
}

/** What a server said about itself in the handshake, in the terms of `initialize`. */
export interface ServerIdentity {
  protocolVersion: string;
  capabilities: Record<string, unknown>;
  serverInfo?: unknown;
  instructions?: unknown;
  [key: string]: unknown;
}

/** What a client says about itself, once in `initialize` or with every request. */
export interface ClientIdentity {
  protocolVersion: string;
  capabilities: Record<string, unknown>;
  clientInfo?: unknown;
}

/** The members of `_meta` that describe modern messages (MCP 2026-07-28, Overview, `_meta`). */
export const meta = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
} as const;

/** The error codes of MCP 2026-07-28 (Overview, Error Codes), and two older server codes that it forbids. */
export const mcpErrors = {
  headerMismatch: -32020,
  missingClientCapability: -32021,
  unsupportedVersion: -32022,
  legacyResourceNotFound: -32002,
  legacyUrlElicitation: -32042,
} as const;

/** Whether only a modern server answers with this error. */
export function isModernRefusal(error: unknown): boolean {
  const { code, data } = (error ?? {}) as { code?: unknown; data?: { supported?: unknown } | null };
  const supported = data?.supported;
  // A server that names a legacy version instead of the requested modern one is a legacy server.
  if (Array.isArray(supported) && legacyVersions.some((revision) => supported.includes(revision)))
    return false;
  return typeof code === 'number' && code <= mcpErrors.headerMismatch && code >= mcpErrors.unsupportedVersion;
}

/** The requests in the course of which a server may ask the client (MCP 2026-07-28, Multi Round-Trip Requests). */
export const askingMethods: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

/** The requests whose results state how long they may be cached (MCP 2026-07-28, Caching). */
export const cacheableMethods: ReadonlySet<string> = new Set([
  ...[...extensionRequests].flatMap(([method, { isCacheable }]) => (isCacheable === true ? [method] : [])),
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]);

/** Requests that 2026-07-28 has removed. They are answered as unknown methods. */
export const legacyOnlyMethods: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
]);

/** The lists whose content may depend on the capabilities of the client. */
export const listMethods: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
]);

/** The requests about tasks of 2025-11-25 (Tasks), which either side may send. Modern versions have different ones. */
const taskRequests = ['tasks/cancel', 'tasks/get', 'tasks/list', 'tasks/result'] as const;

/** Whether a request is about a task, which belongs to one connection of a legacy server. */
export function isAboutTasks(method: string | undefined): boolean {
  return method?.startsWith('tasks/') === true;
}

/** Every request that a client can send in any protocol version. */
const clientRequests: ReadonlySet<string> = new Set([
  ...askingMethods,
  ...cacheableMethods,
  ...legacyOnlyMethods,
  'completion/complete',
  'subscriptions/listen',
  ...taskRequests,
  ...extensionRequests.keys(),
]);

/** Whether any protocol version defines this method for clients. */
export function isKnownMethod(method: string): boolean {
  return clientRequests.has(method) || clientNotifications.has(method);
}

const clientNotifications: ReadonlySet<string> = new Set([
  'notifications/cancelled',
  'notifications/initialized',
  'notifications/progress',
  'notifications/roots/list_changed',
  ...extensionNotifications,
]);

/** The capability that a client must declare to receive this request. */
export const capabilityFor: Readonly<Record<string, string>> = {
  'roots/list': 'roots',
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  ...Object.fromEntries(taskRequests.map((method) => [method, 'tasks'])),
};

/** Whether a call can succeed without the answer to a request. Servers only use the roots if a client has some. */
export const isOptional = (method: string): boolean => method === 'roots/list';

/** Whether the client has declared the capability for this request. */
export function isOffered({ capabilities }: ClientIdentity, method: string): boolean {
  const capability = capabilityFor[method];
  return capability !== undefined && capabilities[capability] !== undefined;
}

/** Whether the client has declared any capability to receive requests. */
export function canBeAsked(client: ClientIdentity): boolean {
  return Object.keys(capabilityFor).some((method) => isOffered(client, method));
}

/** The names of the capabilities to receive requests that a client has declared. */
export function askableBy(client: ClientIdentity): string {
  const names = Object.keys(capabilityFor).flatMap((method) =>
    isOffered(client, method) ? [capabilityFor[method]] : [],
  );
  return [...new Set(names)].join(' '); // in the order of the table
}

const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

/** Whether a log message of this level is for a client that wants `least` and more severe ones. */
export function isLoud(level: unknown, least: string): boolean {
  return logLevels.indexOf(String(level)) >= logLevels.indexOf(least);
}

/**
 * Returns the older of the requested version and the supported version. A client that does not support the result
 * disconnects.
 */
export function negotiateVersion(asked: unknown, spoken: string): string {
  const newest = isModern(spoken) ? newestLegacyVersion : spoken;
  const isKnown = (legacyVersions as readonly unknown[]).includes(asked);
  return isKnown && (asked as string) < newest ? (asked as string) : newest;
}

/** Reads the result of `initialize` or `server/discover`. Throws for anything else. */
export function identityFrom(result: unknown): ServerIdentity {
  const { protocolVersion, supportedVersions, capabilities, ...rest } = (result ?? {}) as {
    [key: string]: unknown;
    _meta?: Record<string, unknown>;
  };
  const spoken = Array.isArray(supportedVersions)
    ? protocolVersions.find((revision) => supportedVersions.includes(revision))
    : protocolVersion;
  if (typeof spoken !== 'string') {
    const why = spoken === undefined ? 'missing' : 'not a string';
    throw new Error(`the server information violates the protocol: the protocol version is ${why}`);
  }
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, _meta: more, ...described } = rest;
  const named = described['serverInfo'] ?? more?.[meta.serverInfo];
  const isOptional = named === undefined && Array.isArray(supportedVersions);
  return {
    ...described,
    protocolVersion: spoken,
    capabilities: { ...readableCapabilities(capabilities) },
    serverInfo: isOptional ? undefined : readableServerInfo(named),
  };
}

/** Whether this is a modern server's result of `server/discover`. Some legacy servers answer every request with a result. */
export function isModernDiscovery(result: unknown): boolean {
  const { supportedVersions } = (result ?? {}) as { supportedVersions?: unknown };
  return Array.isArray(supportedVersions) && supportedVersions.includes(modernVersion);
}

/** Returns the members of `_meta` that describe a client to a modern server. */
export function modernMeta(
  { capabilities, clientInfo }: ClientIdentity,
  logLevel?: string,
): Record<string, unknown> {
  return {
    [meta.protocolVersion]: modernVersion,
    [meta.clientCapabilities]: capabilities,
    ...(clientInfo === undefined ? {} : { [meta.clientInfo]: clientInfo }),
    ...(logLevel === undefined ? {} : { [meta.logLevel]: logLevel }),
  };
}
