import type { Found } from './client-document.ts';
import { inner, text } from './fields.ts';
import type { Fields } from './fields.ts';
import { isObject } from './parse-document.ts';

/** Docker's own catalog has hundreds of servers, which no user means at once. */
const maxServers = 20;

/**
 * The servers in a profile (`docker mcp profile export`), a small catalog, or a server description from the Docker MCP
 * Toolkit, as client entries. Empty for other documents.
 */
export function dockerServers(document: unknown): Found[] {
  if (!isObject(document)) return [];
  const { registry, servers, id } = document;
  if (isObject(registry)) {
    const all = Object.entries(registry).flatMap(([name, server]) =>
      isServer(server) ? [foundOf(name, server, {})] : [],
    );
    return all.length > maxServers ? [] : all;
  }
  const items = Array.isArray(servers) ? servers.filter(isObject) : [];
  if (items.some((item) => isObject(item['snapshot'])))
    return id === undefined && items.length > maxServers ? [] : items.map(fromProfile);
  const { name, type } = document;
  const isDescription = typeof name === 'string' && (type === 'server' || type === 'remote');
  return isDescription && isServer(document) ? [foundOf(name, document, {})] : [];
}

/** A profile's server, with the description from the time when it was added. */
function fromProfile(item: Fields): Found {
  const { config, endpoint, source, tools } = item;
  const server = inner(inner(item, 'snapshot'), 'server');
  const image = text(item['image']) ?? text(server['image']);
  const url = text(endpoint) ?? text(inner(server, 'remote')['url']);
  const remote = { ...inner(server, 'remote'), url };
  const name = text(server['name']) ?? text(source) ?? '';
  return foundOf(name, { ...server, image, remote }, { config, tools });
}

function isServer(value: unknown): value is Fields {
  return isObject(value) && (text(value['image']) !== undefined || isObject(value['remote']));
}

function foundOf(name: string, given: Fields, chosen: { config?: unknown; tools?: unknown }): Found {
  const server = flattened(given);
  const config = isObject(chosen.config) ? chosen.config : {};
  const tools = Array.isArray(chosen.tools) ? chosen.tools : undefined;
  const { url = server['sseEndpoint'], transport_type: type, headers } = inner(server, 'remote');
  const isRemote = text(url) !== undefined;
  const entry = isRemote
    ? { url, type, headers }
    : text(server['image']) === undefined
      ? {}
      : startedBy(server, config);
  // Without a list, all tools are on.
  return { name, path: [], entry: { ...entry, tools, disabled: tools?.length === 0 } };
}

/** In the source of Docker's catalog (`server.yaml`), the settings of a server are one level deeper than in the catalog. */
function flattened(server: Fields): Fields {
  const { env, secrets } = inner(server, 'config');
  const { env: fixed, ...run } = inner(server, 'run');
  const variables = isObject(fixed) ? Object.entries(fixed).map(([name, value]) => ({ name, value })) : [];
  return {
    ...server,
    ...run,
    env: [...listOf(server['env']), ...listOf(env), ...variables],
    secrets: [...listOf(server['secrets']), ...listOf(secrets)],
  };
}

/** The container command. Mounts stay a field that ToolHive only names, because the user grants access. */
function startedBy(server: Fields, config: Fields): Fields {
  const fill = (word: string): string => filled(word, config);
  const variables = listOf(server['env']).flatMap(({ name, value }) =>
    typeof name === 'string' ? [[name, fill(text(value) ?? '')] as const] : [],
  );
  const secrets = listOf(server['secrets']).flatMap(({ env }) =>
    typeof env === 'string' ? [[env, `\${${env}}`] as const] : [],
  );
  const env = [...variables, ...secrets];
  const words = Array.isArray(server['command']) ? server['command'] : [];
  return {
    command: 'docker',
    args: [
      'run',
      '-i',
      '--rm',
      ...(server['disableNetwork'] === true ? ['--network', 'none'] : []),
      ...env.flatMap(([name]) => ['-e', name]),
      server['image'],
      ...words.filter((word) => typeof word === 'string').map(fill),
    ],
    env: Object.fromEntries(env),
    volumes: server['volumes'],
    user: server['user'],
    allowHosts: server['allowHosts'],
    extraHosts: server['extraHosts'],
  };
}

/** `{{github.owner}}` and `{{filesystem.paths|volume|into}}`: a profile setting, or a value that the user is asked for. */
function filled(word: string, config: Fields): string {
  return word.replaceAll(/\{\{\s*([\w.-]{1,100})\s*(?:\|[\w|-]{0,100})?\}\}/g, (_whole, path: string) => {
    const keys = path.split('.').slice(1);
    const value = keys.reduce<unknown>((outer, key) => (isObject(outer) ? outer[key] : undefined), config);
    const isKnown = keys.length > 0 && (typeof value === 'string' || typeof value === 'number');
    return isKnown ? String(value) : `\${${path}}`;
  });
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
