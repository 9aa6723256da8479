import * as z from 'zod';
import { keysFor } from './keys.ts';
import { isListing, listPage } from './list-page.ts';
import { remoteOf, waysToRun } from './mcp-server.ts';
import type { WayToRun } from './mcp-server.ts';
import { originalExtensionsIn } from './original-extension.ts';
import type { OriginalExtensions } from './original-extension.ts';
import { reasonOf } from './reason.ts';
import { ServerJson } from './server-json.ts';

/** Servers as the MCP registry lists them, converted to entries that are still to be checked. */
export interface Converted {
  last_updated: string;
  servers: Record<string, unknown>;
  remote_servers: Record<string, unknown>;
  skipped: { name: string; why: string }[];
}

/**
 * The servers in an MCP registry document: a page of a list, one list item, a `server.json`, or an array of any of
 * these. Undefined for anything else.
 */
export function listingsOf(document: unknown): unknown[] | undefined {
  if (Array.isArray(document)) return document.length > 0 ? document : undefined;
  return isListing(document) ? [document] : listPage(document)?.servers;
}

/** Converts servers from the MCP registry: the latest version of each, as far as ToolHive can run it. */
export function fromListings(listings: readonly unknown[]): Converted {
  const skipped: Converted['skipped'] = [];
  const latest = new Map<string, Listing>();
  for (const listing of listings) {
    try {
      const { server, ...rest } = parseListing(listing);
      const other = latest.get(server.name);
      if (rest.isLatest !== false && (other === undefined || isNewer({ server, ...rest }, other))) {
        latest.set(server.name, { server, ...rest });
      }
    } catch (error) {
      skipped.push({ name: nameOf(listing), why: reasonOf(error) });
    }
  }
  const offers = [...latest.values()].map(offerOf);
  return { ...withKeys(offers, skipped), last_updated: newestOf([...latest.values()]), skipped };
}

/** What becomes of a server: an entry that runs here, one that runs elsewhere, both, or neither. */
interface Offer {
  name: string;
  server?: object;
  remote?: object;
  why: string[];
}

function offerOf({ server, status, extension, original }: Listing): Offer {
  const { name } = server;
  if (status === 'deleted') return { name, why: ['the server has been withdrawn'] };
  const { ways, why } = waysToRun(server);
  const main = ways.find(({ isImage, mounts }) => isImage && mounts.length === 0) ?? ways[0];
  const remote = remoteOf(server);
  if (typeof remote === 'string') why.push(remote);
  /** The members that both kinds of entries have. ToolHive's own win over the original's. */
  const common = ({ status: ownStatus = status, custom_metadata: more, ...rest }: Extended): object => ({
    description: server.description,
    tier: 'Community',
    tools: [],
    ...(server.repository === undefined ? {} : { repository_url: server.repository.url }),
    ...rest,
    status: [status, ownStatus?.toLowerCase()].includes('deprecated') ? 'Deprecated' : 'Active',
    ...extension,
    custom_metadata: customOf(server, main, { ...more, ...objectOf(extension['custom_metadata']) }),
  });
  return {
    name,
    ...(main === undefined ? {} : { server: localEntry(main, ways) }),
    ...(typeof remote === 'object' ? { remote: { ...common(original.remote(remote.url)), ...remote } } : {}),
    why: why.length > 0 ? why : ['the server has neither packages nor remotes'],
  };

  function localEntry(way: WayToRun, all: readonly WayToRun[]): object {
    const { args, ...more } = way.isImage ? original.local(way.source) : {};
    const entry = entryOf(way, all);
    return { ...entry, ...(way.args.length > 0 || args === undefined ? {} : { args }), ...common(more) };
  }
}

/** What a publisher says about one way to use a server. */
interface Extended {
  status?: string | undefined;
  custom_metadata?: Record<string, unknown> | undefined;
  [field: string]: unknown;
}

function objectOf(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {};
}

function entryOf(main: WayToRun, ways: readonly WayToRun[]): object {
  const alternative = main.isImage ? ways.find((way) => isSameServer(main, way)) : undefined;
  return {
    image: main.source,
    ...(alternative === undefined ? {} : { package: packageOf(main, alternative) }),
    transport: main.transport,
    ...(main.targetPort === undefined ? {} : { target_port: main.targetPort }),
    args: main.args,
    env_vars: main.variables,
  };
}

/** Whether a package can replace an image: it has the same transport and configuration. */
function isSameServer(main: WayToRun, way: WayToRun): boolean {
  const looks = ({ transport, targetPort, variables }: WayToRun) =>
    JSON.stringify([transport, targetPort, variables]);
  const sameArgs = main.args.length === 0 || JSON.stringify(main.args) === JSON.stringify(way.args);
  return !way.isImage && sameArgs && looks(main) === looks(way);
}

function packageOf(main: WayToRun, { source, args }: WayToRun): object {
  return { source, ...(main.args.length > 0 || args.length === 0 ? {} : { args }) };
}

function customOf(server: ServerJson, main: WayToRun | undefined, more: object): object {
  const all = {
    ...more,
    registry_name: server.name,
    version: server.version ?? server.versionDetail?.version,
    title: server.title,
    homepage: server.websiteUrl,
    arguments: main?.asked.length ? main.asked : undefined,
    mounts: main?.mounts.length ? main.mounts : undefined,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** Gives every entry its key. One that runs elsewhere gets the plain one only when nothing runs here. */
function withKeys(offers: readonly Offer[], skipped: Converted['skipped']) {
  const servers: Record<string, unknown> = {};
  const remotes: Record<string, unknown> = {};
  const remoteName = ({ name, server }: Offer): string => (server === undefined ? name : `${name}/remote`);
  const keys = keysFor(
    offers.flatMap((offer) => [
      ...(offer.server === undefined ? [] : [offer.name]),
      ...(offer.remote === undefined ? [] : [remoteName(offer)]),
    ]),
  );
  for (const offer of offers) {
    if (offer.server !== undefined) put(servers, offer.name, offer.server);
    if (offer.remote !== undefined) put(remotes, remoteName(offer), offer.remote);
    if (offer.server === undefined && offer.remote === undefined) {
      skipped.push({ name: offer.name, why: [...new Set(offer.why)].join('; ') });
    }
  }
  return { servers, remote_servers: remotes };

  function put(entries: Record<string, unknown>, name: string, entry: object): void {
    const key = keys.get(name);
    if (key === undefined)
      skipped.push({ name, why: 'its name cannot be distinguished from the name of another entry' });
    else entries[key] = entry;
  }
}

/** One server in a list, with the registry's metadata. */
interface Listing {
  server: ServerJson;
  status?: string | undefined;
  isLatest?: boolean | undefined;
  updatedAt?: string | undefined;
  extension: Record<string, unknown>;
  original: OriginalExtensions;
}

/** The metadata that the registry itself adds to a server. */
export const officialKey = 'io.modelcontextprotocol.registry/official';
/** The metadata that the server's publisher adds. */
export const publisherKey = 'io.modelcontextprotocol.registry/publisher-provided';
/** ToolHive's part of the publisher's metadata. */
export const toolhiveKey = 'dev.toolhive';
const formerOfficialKey = 'x-io.modelcontextprotocol.registry';
const Official = z
  .object({
    status: z.string().optional(),
    isLatest: z.boolean().optional(),
    is_latest: z.boolean().optional(),
    updatedAt: z.string().optional(),
    updated_at: z.string().optional(),
  })
  .catch({});
const Outer = z.looseObject({
  server: z.unknown().optional(),
  _meta: z.record(z.string(), z.unknown()).optional(),
});

/** What the publisher may say in the terms of this product. */
const Extension = z
  .object({
    description: z.unknown(),
    tier: z.unknown(),
    transport: z.unknown(),
    tools: z.unknown(),
    tags: z.unknown(),
    metadata: z.unknown(),
    custom_metadata: z.unknown(),
    permissions: z.unknown(),
    target_port: z.unknown(),
    docker_tags: z.unknown(),
    provenance: z.unknown(),
    // Only the owner of a registry may let install scripts run, and these fields are text of a publisher.
    package: z.looseObject({}).transform(({ allow_scripts: _scripts, ...rest }) => rest),
    sessions: z.unknown(),
    oauth_config: z.unknown(),
  })
  .partial()
  .catch({});
const FormerPublisher = z.object({ 'x-dev.toolhive': Extension }).catch({ 'x-dev.toolhive': {} });
const Publisher = z
  .object({ _meta: z.object({ [publisherKey]: z.object({ [toolhiveKey]: Extension }) }) })
  .transform(({ _meta }) => _meta[publisherKey][toolhiveKey])
  .catch({});

const Metadata = z
  .object({ _meta: z.object({ [publisherKey]: z.unknown() }) })
  .transform(({ _meta }) => _meta[publisherKey])
  .catch({});

function parseListing(value: unknown): Listing {
  const outer = Outer.parse(value);
  const server = ServerJson.parse(outer.server ?? value);
  const official = Official.parse(outer._meta?.[officialKey] ?? outer[formerOfficialKey]);
  return {
    server,
    status: (official.status ?? server.status)?.toLowerCase(),
    isLatest: official.isLatest ?? official.is_latest,
    updatedAt: official.updatedAt ?? official.updated_at,
    extension: {
      ...FormerPublisher.parse(outer['x-publisher'])['x-dev.toolhive'],
      ...Publisher.parse(outer.server ?? value),
    },
    original: originalExtensionsIn(Metadata.parse(outer.server ?? value)),
  };
}

function isNewer(listing: Listing, other: Listing): boolean {
  if (listing.isLatest === true || other.isLatest === true) return listing.isLatest === true;
  return versionOf(listing).localeCompare(versionOf(other), 'en', { numeric: true }) > 0;
}

function versionOf({ server }: Listing): string {
  return server.version ?? server.versionDetail?.version ?? '';
}

function newestOf(listings: readonly Listing[]): string {
  return listings.map(({ updatedAt = '' }) => updatedAt).reduce((a, b) => (a > b ? a : b), '');
}

function nameOf(listing: unknown): string {
  const named = z.object({ server: z.object({ name: z.string() }) }).safeParse(listing);
  const bare = z.object({ name: z.string() }).safeParse(listing);
  return named.data?.server.name ?? bare.data?.name ?? 'a server';
}
