import type { Registry, RegistryRemoteServer, RegistryServer } from '@toolhive/contract/registry';
import { bundleHash, parseSource } from '@toolhive/runtime/source';
import type { InstallableSource, ServerSource } from '@toolhive/runtime/source';
import { officialKey, publisherKey, toolhiveKey } from './mcp-registry.ts';
import { ownNamespace } from './keys.ts';

/** A server as the MCP registry API lists it: the server in the format of 2025-12-11, and the registry's metadata. */
export interface PublishedServer {
  server: { name: string; description: string; version: string; [field: string]: unknown };
  _meta: { [officialKey]: { status: string; isLatest: true; updatedAt?: string } };
}

/**
 * A registry's servers in the MCP registry's format, sorted by name. Entries from an MCP registry keep their name
 * there. Other entries get the namespace `dev.toolhive`. A local and a remote entry with the same name become one
 * server. Groups are not included, because the format has none. Fields without an equivalent are in the
 * publisher's metadata, where `readRegistry` finds them.
 */
export function publishedServers(registry: Registry): PublishedServer[] {
  const offers = new Map<string, Offer>();
  for (const [key, local] of Object.entries(registry.servers)) {
    const name = nameOf(key, local, registry.servers, (offer) => offer.local === undefined);
    offers.set(name, { ...offers.get(name), local });
  }
  for (const [key, remote] of Object.entries(registry.remote_servers)) {
    const name = nameOf(key, remote, registry.remote_servers, (offer) => offer.remote === undefined);
    offers.set(name, { ...offers.get(name), remote });
  }
  return [...offers]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, offer]) => publishedServer(name, offer, registry.last_updated));

  /** An entry's name in its MCP registry, unless the name is invalid, taken, or that of another entry. */
  function nameOf(key: string, entry: Entry, entries: object, isFree: (offer: Offer) => boolean): string {
    const ownName = `${ownNamespace}/${key}`;
    const given = entry.custom_metadata?.['registry_name'];
    if (typeof given !== 'string' || !serverName.test(given) || !isFree(offers.get(given) ?? {}))
      return ownName;
    const [namespace, rest = ''] = given.split('/');
    return namespace === ownNamespace && Object.hasOwn(entries, rest) ? ownName : given;
  }
}

type Entry = RegistryServer | RegistryRemoteServer;

interface Offer {
  local?: RegistryServer;
  remote?: RegistryRemoteServer;
}

const serverName = /^(?=.{3,200}$)[a-zA-Z0-9][a-zA-Z0-9.-]*\/[a-zA-Z0-9_][a-zA-Z0-9._-]*$/;
const maxTextLength = 100;

function publishedServer(name: string, { local, remote }: Offer, lastUpdated: string): PublishedServer {
  const main = { ...remote, ...local };
  const { custom_metadata: custom = {}, repository_url: repository } = main;
  const title = textOf(custom['title']);
  const homepage = textOf(custom['homepage']);
  return {
    server: {
      $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
      name,
      description: shortened(main.description || title || name),
      ...(title === undefined || title === '' ? {} : { title: shortened(title) }),
      version: versionOf(custom, local),
      ...(URL.canParse(repository ?? '') ? { repository: repositoryOf(repository ?? '') } : {}),
      ...(URL.canParse(homepage ?? '') ? { websiteUrl: homepage } : {}),
      ...(local === undefined ? {} : { packages: packagesOf(local) }),
      ...(remote === undefined ? {} : { remotes: [remoteOf(remote)] }),
      _meta: { [publisherKey]: { [toolhiveKey]: extensionOf(local, remote) } },
    },
    _meta: {
      [officialKey]: {
        status: main.status === 'Deprecated' ? 'deprecated' : 'active',
        isLatest: true,
        ...(dateTime.test(lastUpdated) ? { updatedAt: lastUpdated } : {}),
      },
    },
  };
}

const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function shortened(text: string): string {
  return text.length > maxTextLength ? `${text.slice(0, maxTextLength - 1).toWellFormed()}…` : text;
}

/** The fields that the format cannot express. Null removes a field that a reader would otherwise infer. */
function extensionOf(local: RegistryServer | undefined, remote: RegistryRemoteServer | undefined): object {
  const { description, tier, tools, tags, metadata, custom_metadata } = { ...remote, ...local };
  return {
    description,
    tier,
    tools,
    tags,
    metadata,
    custom_metadata,
    oauth_config: remote?.oauth_config,
    ...(local === undefined
      ? {}
      : {
          permissions: local.permissions,
          package: local.package,
          sessions: local.sessions,
          docker_tags: local.docker_tags,
          provenance: local.provenance,
          ...(local.transport !== 'stdio' && local.target_port === undefined ? { target_port: null } : {}),
        }),
  };
}

/** The version of a server, which is always exact in this format. */
function versionOf(custom: Record<string, unknown>, local: RegistryServer | undefined): string {
  const sources = [local?.image, local?.package?.source].map((text) =>
    text === undefined ? undefined : exactVersion(parseSource(text)),
  );
  const exact = [textOf(custom['version']), ...sources].find(
    (version) => version !== undefined && version !== 'latest' && /^[^\s^~<>=*]{1,255}$/.test(version),
  );
  return exact ?? '0.0.0';
}

function exactVersion(source: ServerSource): string | undefined {
  if (source.kind === 'package') return source.version;
  if (source.kind === 'bundle') return undefined;
  return /:([^/:@]+)(?:@.*)?$/.exec(source.image)?.[1];
}

function repositoryOf(url: string): object {
  const { hostname } = new URL(url);
  const [, known] = /^(?:www\.)?(github|gitlab)\.com$/.exec(hostname) ?? [];
  return { url, source: known ?? hostname };
}

/** The image, and then its alternative, which has the same configuration. */
function packagesOf(entry: RegistryServer): object[] {
  const alternative = entry.package;
  return [
    packageOf(entry, entry.image, entry.args ?? []),
    ...(alternative === undefined
      ? []
      : [packageOf(entry, alternative.source, [...(alternative.args ?? []), ...(entry.args ?? [])])]),
  ];
}

const registryTypes: Record<InstallableSource['scheme'], string> = {
  npx: 'npm',
  uvx: 'pypi',
  go: 'go',
  mcpb: 'mcpb',
};

function packageOf(entry: RegistryServer, text: string, args: readonly string[]): object {
  const source = parseSource(text);
  const version = source.kind === 'package' && source.version !== 'latest' ? source.version : undefined;
  const hash = source.kind === 'bundle' ? bundleHash(source) : undefined;
  return {
    registryType: source.kind === 'image' ? 'oci' : registryTypes[source.scheme],
    identifier: source.kind === 'image' ? source.image : source.name,
    ...(version === undefined ? {} : { version }),
    ...(hash === undefined ? {} : { fileSha256: hash }),
    transport: transportOf(entry),
    packageArguments: args.map((value) => ({ type: 'positional', value })),
    environmentVariables: (entry.env_vars ?? []).map(inputOf),
  };
}

function transportOf({ transport, target_port: port = 8080 }: RegistryServer): object {
  if (transport === 'stdio') return { type: transport };
  return {
    type: transport,
    url: `http://localhost:${port}/${transport === 'sse' ? 'sse' : 'mcp'}`,
  };
}

function remoteOf({ transport, url, headers = [] }: RegistryRemoteServer): object {
  return {
    type: transport,
    url,
    headers: headers.map((header) => ({
      ...inputOf(header),
      ...(header.choices === undefined ? {} : { choices: header.choices }),
    })),
  };
}

interface EntryInput {
  name: string;
  description: string;
  required: boolean;
  secret: boolean;
  default?: string | undefined;
}

function inputOf({ name, description, required, secret, default: preset }: EntryInput): object {
  return {
    name,
    description,
    isRequired: required,
    isSecret: secret,
    ...(preset === undefined ? {} : { default: preset }),
  };
}
