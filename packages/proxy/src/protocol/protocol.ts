/**
 * How a conversation is held. `legacy`: it begins with `initialize`, and both sides may ask. `modern`: every request
 * stands for itself, and only the client asks (MCP 2026-07-28, Versioning, Terminology).
 */
export type ProtocolGeneration = 'legacy' | 'modern';

export const legacyVersions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const;
export const newestLegacyVersion = '2025-11-25';
export const modernVersion = '2026-07-28';
/** Every revision that clients may speak here, the newest first. */
export const protocolVersions: readonly string[] = [modernVersion, ...legacyVersions.toReversed()];

/** Revisions are dates, so they can be compared. */
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

/** What a client says of itself, once in `initialize` or with every request. */
export interface ClientIdentity {
  protocolVersion: string;
  capabilities: Record<string, unknown>;
  clientInfo?: unknown;
}

/** Members of `_meta` that every modern message is described by (MCP 2026-07-28, Overview, `_meta`). */
export const meta = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
} as const;

/** Error codes of MCP 2026-07-28, Overview, Error Codes, and two that it forbids and older servers use. */
export const mcpErrors = {
  headerMismatch: -32020,
  missingClientCapability: -32021,
  unsupportedVersion: -32022,
  legacyResourceNotFound: -32002,
  legacyUrlElicitation: -32042,
} as const;

/** An error that only a modern server answers with; it tells one from a server that knows no such request. */
export function isModernRefusal(error: unknown): boolean {
  const { code, data } = (error ?? {}) as { code?: unknown; data?: { supported?: unknown } | null };
  const supported = data?.supported;
  // Whoever names a legacy revision, and not the modern one that it was asked for, wants to be talked to in that way.
  if (Array.isArray(supported) && legacyVersions.some((revision) => supported.includes(revision)))
    return false;
  return typeof code === 'number' && code <= mcpErrors.headerMismatch && code >= mcpErrors.unsupportedVersion;
}

/** The requests that a server may answer with questions of its own (MCP 2026-07-28, Multi Round-Trip Requests). */
export const askingMethods: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

/** The results that say how long they may be kept (MCP 2026-07-28, Caching). */
export const cacheableMethods: ReadonlySet<string> = new Set([
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

/** The lists that a server may fill by what its client can do. */
export const listMethods: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
]);

/** About tasks, which either side may run for the other (MCP 2025-11-25, Tasks). The modern generation has others. */
const taskRequests = ['tasks/cancel', 'tasks/get', 'tasks/list', 'tasks/result'] as const;

/** Is it about a task that belongs to one conversation of the legacy generation? */
export function isAboutTasks(method: string | undefined): boolean {
  return method?.startsWith('tasks/') === true;
}

/** Every request that a client can make in one revision or another. */
const clientRequests: ReadonlySet<string> = new Set([
  ...askingMethods,
  ...cacheableMethods,
  ...legacyOnlyMethods,
  'completion/complete',
  'subscriptions/listen',
  ...taskRequests,
  'tasks/update',
]);

/** Does the protocol know it, as a request or as a notification? */
export function isKnownMethod(method: string): boolean {
  return clientRequests.has(method) || clientNotifications.has(method);
}

const clientNotifications: ReadonlySet<string> = new Set([
  'notifications/cancelled',
  'notifications/initialized',
  'notifications/progress',
  'notifications/roots/list_changed',
]);

/** The capability that a client must have to be asked this. */
export const capabilityFor: Readonly<Record<string, string>> = {
  'roots/list': 'roots',
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  ...Object.fromEntries(taskRequests.map((method) => [method, 'tasks'])),
};

/** Has the client said that it can be asked this? */
export function isOffered({ capabilities }: ClientIdentity, method: string): boolean {
  const capability = capabilityFor[method];
  return capability !== undefined && capabilities[capability] !== undefined;
}

/** Has the client said that it can be asked anything at all? */
export function canBeAsked(client: ClientIdentity): boolean {
  return Object.keys(capabilityFor).some((method) => isOffered(client, method));
}

const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

/** Is a message of this level to be sent to a client that wants `least` and worse? */
export function isLoud(level: unknown, least: string): boolean {
  return logLevels.indexOf(String(level)) >= logLevels.indexOf(least);
}

/** The older of what a client asks for and what is spoken; a client drops out if it cannot do that. */
export function negotiateVersion(asked: unknown, spoken: string): string {
  const newest = isModern(spoken) ? newestLegacyVersion : spoken;
  const isKnown = (legacyVersions as readonly unknown[]).includes(asked);
  return isKnown && (asked as string) < newest ? (asked as string) : newest;
}

/** What a server answered to `initialize` or `server/discover`; throws for what is neither. */
export function identityFrom(result: unknown): ServerIdentity {
  const { protocolVersion, supportedVersions, capabilities, ...rest } = (result ?? {}) as {
    [key: string]: unknown;
    _meta?: Record<string, unknown>;
  };
  const spoken = Array.isArray(supportedVersions)
    ? protocolVersions.find((revision) => supportedVersions.includes(revision))
    : protocolVersion;
  if (typeof spoken !== 'string' || typeof capabilities !== 'object' || capabilities === null) {
    throw new Error('the server said of itself something else than the protocol wants');
  }
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, _meta: more, ...described } = rest;
  const serverInfo = described['serverInfo'] ?? more?.[meta.serverInfo];
  return { ...described, protocolVersion: spoken, capabilities: { ...capabilities }, serverInfo };
}

/** Is this what a modern server answers to `server/discover`? There are legacy ones that answer anything with a result. */
export function isModernDiscovery(result: unknown): boolean {
  const { supportedVersions } = (result ?? {}) as { supportedVersions?: unknown };
  return Array.isArray(supportedVersions) && supportedVersions.includes(modernVersion);
}

/** The members of `_meta` that describe a client to a modern server. */
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
