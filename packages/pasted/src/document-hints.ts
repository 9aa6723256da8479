import { list, text } from './fields.ts';
import type { Fields } from './fields.ts';
import { isObject } from './parse-document.ts';

/**
 * What to do with a document that describes a server in another way than a client's configuration. Its values are quoted
 * only if they are plain names.
 */
export function hintFor(document: unknown): string | undefined {
  if (!isObject(document)) return undefined;
  return packageHint(document) ?? others.find(({ is }) => is(document))?.hint;
}

/** Whether a document describes the HTTP API of a service. Its `servers` are addresses. */
export function isApiDescription(document: unknown): boolean {
  if (!isObject(document)) return false;
  return [document['openapi'], document['swagger'], document['asyncapi']].some(
    (version) => typeof version === 'string' && /^\d/.test(version),
  );
}

interface OtherDocument {
  is: (document: Fields) => boolean;
  hint: string;
}

const others: readonly OtherDocument[] = [
  {
    is: isApiDescription,
    hint: 'this describes an API, not an MCP server. Run an MCP server that calls the API',
  },
  {
    is: ({ remotes }) => Array.isArray(remotes),
    hint: 'this is a registry entry. Run the URL in it: thv run URL',
  },
  {
    // Browser extensions have a number.
    is: ({ manifest_version: version, dxt_version: older }) =>
      typeof version === 'string' || older !== undefined,
    hint: 'this is a bundle manifest. Run the bundle: thv run FILE.mcpb',
  },
  {
    is: ({ registry }) => isObject(registry),
    hint: 'this is a Docker catalog. Export the servers that you use, and import that file: docker mcp profile export PROFILE FILE',
  },
  {
    is: ({ schema_version: version, image, remote_url: url }) =>
      version !== undefined && (image ?? url) !== undefined,
    hint: 'this is a workload configuration. Run it: thv run --from-config FILE',
  },
  {
    is: ({ mcpServers }) => typeof mcpServers === 'string',
    hint: 'its servers are in another file. Import that file: thv import FILE',
  },
  {
    is: ({ apiVersion, kind }) => typeof apiVersion === 'string' && typeof kind === 'string',
    hint: 'this is a Kubernetes resource. Apply it with kubectl, or run the image or the URL in it: thv run IMAGE',
  },
  {
    is: ({ source, environment }) =>
      isObject(source) && source['entrypoint'] !== undefined && isObject(environment),
    hint: 'this is a FastMCP project file. Run its server: thv run -- fastmcp run FILE',
  },
  {
    is: ({ startCommand, runtime }) =>
      isObject(startCommand) || runtime === 'typescript' || runtime === 'python' || runtime === 'container',
    hint: 'this is a Smithery file, which does not name the package. Run the package or the image that the README names: thv run npx://PACKAGE',
  },
  {
    is: ({ extensions }) =>
      isObject(extensions) &&
      Object.values(extensions).some(
        (each) => isObject(each) && (each['type'] === 'builtin' || each['type'] === 'platform'),
      ),
    hint: 'all its extensions are parts of Goose. Add a server to Goose first, or run one: thv run NAME',
  },
  {
    is: ({ plugins }) => list(plugins).some((plugin) => isObject(plugin) && plugin['source'] !== undefined),
    hint: 'this is a plugin marketplace. Import the file of the plugin that you use: thv import .mcp.json',
  },
  {
    is: ({ image, tier, transport }) =>
      typeof image === 'string' && typeof tier === 'string' && transport !== undefined,
    hint: 'this is an entry for a registry of ToolHive. Run the image in it: thv run IMAGE',
  },
  {
    is: ({ servers, remote_servers: remote }) =>
      isObject(remote) ||
      (isObject(servers) &&
        Object.values(servers).some((each) => isObject(each) && each['image'] !== undefined)),
    hint: 'this is a registry. Use it, and run its servers by their names: thv config set-registry FILE',
  },
  {
    is: ({ maintainers, mcpServers }) => Array.isArray(maintainers) && mcpServers === undefined,
    hint: 'this is a file for Glama, which does not name the package. Run the package or the image that the README names: thv run npx://PACKAGE',
  },
  {
    is: ({ serverInfo, transport }) => isObject(serverInfo) && transport !== undefined,
    hint: 'this is the card of a server. Run the server at its URL: thv run https://HOST/mcp',
  },
  {
    is: ({ services }) => isObject(services),
    hint: 'this is a Docker Compose file. Run the image in it: thv run IMAGE',
  },
  {
    is: (document) =>
      text(document['name']) !== undefined &&
      pluginFields.some((field) => document[field] !== undefined) &&
      !['dependencies', 'scripts', 'manifest_version'].some((field) => document[field] !== undefined),
    hint: 'this is a plugin manifest without servers. If the plugin has servers, they are in another file. Import that file: thv import .mcp.json',
  },
];

/** What the manifest of a plugin or an extension has, and that of a package also. */
const pluginFields = [
  'author',
  'keywords',
  'commands',
  'agents',
  'skills',
  'hooks',
  'interface',
  'contextFileName',
];

const isPlain = (word: string): boolean => /^[\w@./:-]{1,200}$/.test(word);

/** The `thv run` sources for a registry entry's packages. */
const sources = new Map<string, (name: string, version: string) => string>([
  ['npm', (name) => `npx://${name}`],
  ['pypi', (name) => `uvx://${name}`],
  ['go', (name) => `go://${name}`],
  ['mcpb', (name) => `mcpb://${name}`],
  ['oci', (name, version) => (version === '' || /[:@][^/]*$/.test(name) ? name : `${name}:${version}`)],
]);

/** How to run a registry entry's package (`server.json`), whose fields have had several names. */
function packageHint({ packages, remotes }: Fields): string | undefined {
  const all = list(packages).filter(isObject);
  if (all.length === 0) return undefined;
  const found = all.map((each) => ({ each, source: sourceOf(each) }));
  const { each = {}, source } = found.find((one) => one.source !== undefined) ?? {};
  const start = 'this is a registry entry.';
  if (source === undefined) {
    return Array.isArray(remotes)
      ? `${start} Run the URL in it: thv run URL`
      : `${start} Run the package in it`;
  }
  const bundles = found.filter((one) => one.source?.startsWith('mcpb://'));
  if (source.startsWith('mcpb://') && bundles.length > 1)
    return `${start} Run the bundle in it for this system: thv run mcpb://URL`;
  return `${start} Run its package: ${['thv run', source, ...settingsOf(each)].join(' ')}`;
}

function sourceOf(each: Fields): string | undefined {
  const { registryType, registry_type: type = registryType, registry_name: registry = type } = each;
  const name = text(each['identifier']) ?? text(each['name']) ?? '';
  const version = text(each['version']) ?? '';
  const source = sources.get(text(registry) ?? '');
  const isOdd = !isPlain(name) || (registry === 'mcpb' && !name.startsWith('https://'));
  return isOdd ? undefined : source?.(name, isPlain(version) ? version : '');
}

/** The variables that the package needs. */
function settingsOf(each: Fields): string[] {
  const { environmentVariables, environment_variables: variables = environmentVariables } = each;
  return list(variables)
    .filter(isObject)
    .filter((one) => (one['isRequired'] ?? one['is_required']) === true && one['value'] === undefined)
    .map((one) => text(one['name']) ?? '')
    .flatMap((name) => (/^[A-Za-z_]\w{0,60}$/.test(name) ? ['-e', `${name}=VALUE`] : []));
}
