import { invalid } from '@toolhive/contract/failure';
import { WorkloadName } from '@toolhive/contract/names';
import {
  RegistryGroup,
  RegistryRemoteServer,
  RegistryServer,
  urlVariable,
} from '@toolhive/contract/registry';
import type { Registry } from '@toolhive/contract/registry';
import { isLocalPath, isRepository, parseSource } from '@toolhive/runtime/source';
import type { BundleSource } from '@toolhive/runtime/source';
import * as z from 'zod';
import { fromListings, listingsOf } from './mcp-registry.ts';
import { reasonOf } from './reason.ts';

/** The usable content of a source, and the omitted entries. */
export interface Reading {
  registry: Registry;
  skipped: Skipped[];
}

export interface Skipped {
  name: string;
  why: string;
}

/** The maximum nesting of a registry. Valid registries have fewer than ten levels. */
export const maxRegistryDepth = 64;

/**
 * Converts an external document to a registry: a document in ToolHive's format, or a server list from the MCP
 * registry. Omits invalid entries, with a reason. Throws `invalid` if the document contains no registry.
 */
export function readRegistry(document: unknown): Reading {
  const listings = listingsOf(document);
  if (listings === undefined) return readDocument(document);
  const { skipped, ...converted } = fromListings(listings);
  const reading = readDocument({ version: '1.0.0', ...converted });
  return { ...reading, skipped: [...skipped, ...reading.skipped] };
}

const Entries = z.record(z.string(), z.unknown());
const Document = z
  .object({
    version: z.string().catch(''),
    last_updated: z.string().catch(''),
    servers: Entries.nullish(),
    remote_servers: Entries.nullish(),
    groups: z.array(z.unknown()).nullish(),
  })
  .refine(({ servers, remote_servers, groups }) => servers ?? remote_servers ?? groups);

function readDocument(value: unknown): Reading {
  const parsed = Document.safeParse(value);
  if (!parsed.success) {
    throw invalid('the document contains no registry', {
      hint: 'a registry is a JSON object with a member named servers',
    });
  }
  const { version, last_updated, groups } = parsed.data;
  const skipped: Skipped[] = [];
  const skip = (name: string, why: string): void => {
    skipped.push({ name: name.slice(0, 200), why: why.slice(0, 500) });
  };
  const registry = {
    version,
    last_updated,
    servers: readServers(parsed.data.servers, skip),
    remote_servers: readRemoteServers(parsed.data.remote_servers, skip),
    ...(groups ? { groups: groups.flatMap((group) => readGroup(group, skip)) } : {}),
  };
  return { registry, skipped };
}

type Skip = (name: string, why: string) => void;
type RawEntries = Record<string, unknown> | null | undefined;

function readServers(entries: RawEntries, skip: Skip): Record<string, RegistryServer> {
  return readEntries(entries, skip, (value) => {
    const server = RegistryServer.parse(value);
    requireRunnable(server.image);
    if (server.package !== undefined) requireRunnable(server.package.source);
    return server;
  });
}

function readRemoteServers(entries: RawEntries, skip: Skip): Record<string, RegistryRemoteServer> {
  return readEntries(entries, skip, (value) => {
    const server = RegistryRemoteServer.parse(value);
    const named = new Set((server.url_variables ?? []).map(({ name }) => name));
    const unknown = [...server.url.matchAll(urlVariable)].flatMap(([, name = '']) =>
      named.has(name) ? [] : name,
    );
    if (unknown.length > 0) throw invalid(`url: ${unknown.join(', ')} is not in url_variables`);
    return withoutSecretValues(server);
  });
}

/** The value of a secret header is a reference to a secret of the user, which no registry may choose. */
function withoutSecretValues({ headers, ...entry }: RegistryRemoteServer): RegistryRemoteServer {
  if (headers === undefined) return entry;
  return {
    ...entry,
    headers: headers.map(({ default: value, ...header }) =>
      header.secret || value === undefined ? header : { ...header, default: value },
    ),
  };
}

function readGroup(value: unknown, skip: Skip): RegistryGroup[] {
  const parsed = GroupHead.safeParse(withoutNulls(value));
  if (!parsed.success) {
    skip('a group', reasonOf(parsed.error));
    return [];
  }
  const { servers, remote_servers, ...head } = parsed.data;
  const skipHere: Skip = (name, why) => skip(`${head.name}/${name}`, why);
  return [
    {
      ...head,
      servers: readServers(servers, skipHere),
      remote_servers: readRemoteServers(remote_servers, skipHere),
    },
  ];
}

/** A group whose entries are yet to be looked at. */
const GroupHead = RegistryGroup.extend({ servers: Entries.optional(), remote_servers: Entries.optional() });

function readEntries<T>(entries: RawEntries, skip: Skip, parse: (value: unknown) => T): Record<string, T> {
  const result: Record<string, T> = {};
  for (const [name, value] of Object.entries(entries ?? {})) {
    try {
      WorkloadName.parse(name);
      result[name] = { ...parse(withoutNulls(value)), name };
    } catch (error) {
      skip(name, reasonOf(error)); // the others are not concerned
    }
  }
  return result;
}

/** An external list may name images and published packages, but no directory on this machine and no repository. */
function requireRunnable(text: string): void {
  const source = parseSource(text);
  if (source.kind === 'image') return;
  if (source.kind === 'bundle') return requirePublishedBundle(source, text);
  if (isLocalPath(source)) throw invalid(`${text} is a path of this machine`);
  if (isRepository(source)) throw invalid(`${text} is a Git repository, which only a user can name`);
}

/** A web server could replace a bundle at any time, so the registry must name its content. */
function requirePublishedBundle(source: BundleSource, text: string): void {
  if (source.name.startsWith('/') || source.name.startsWith('.'))
    throw invalid(`${text} is a path of this machine`);
  if (source.version === undefined) throw invalid(`the bundle ${source.name} has no fileSha256`);
}

/** Other programs write `null` for missing values. Free-form values stay unchanged. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== null)
      .map(([key, inner]) => [key, free.has(key) ? inner : withoutNulls(inner)]),
  );
}

const free = new Set(['custom_metadata', 'predicate']);
