import { isCredential } from '@toolhive/contract/credential';
import type { Found } from './client-document.ts';
import { placeholderOf } from './document-questions.ts';
import { inner, list, scalar, text } from './fields.ts';
import type { Fields } from './fields.ts';
import { isObject } from './parse-document.ts';
import type { Input } from './placeholders.ts';

/** Docker's own catalog has hundreds of servers, which no user means at once. */
const maxServers = 20;

/**
 * The servers in a profile (`docker mcp profile export`), a small catalog, or a server description from the Docker MCP
 * Toolkit, as client entries. Empty for other documents.
 */
export function dockerServers(document: unknown): Found[] {
  return described(document).map(({ name, server, ...chosen }) => foundOf(name, server, chosen));
}

/** What the servers ask for: their parameters and secrets, by their placeholders in the entries. */
export function dockerQuestions(document: unknown): (readonly [string, Input])[] {
  return described(document).flatMap(({ server }) => [
    ...parametersOf(server).map(({ path, input }) => [placeholderOf(path), input] as const),
    ...secretsOf(server).map(({ env, input }) => [placeholderOf(env), input] as const),
  ]);
}

/** A server as Docker describes it, and what a profile chooses. */
interface Described {
  name: string;
  server: Fields;
  config?: unknown;
  tools?: unknown;
}

function described(document: unknown): Described[] {
  if (!isObject(document)) return [];
  const { registry, servers, id } = document;
  if (isObject(registry)) {
    const all = Object.entries(registry).flatMap(([name, server]) =>
      isServer(server) ? [{ name, server }] : [],
    );
    return all.length > maxServers ? [] : all;
  }
  const items = Array.isArray(servers) ? servers.filter(isObject) : [];
  if (items.some((item) => isObject(item['snapshot'])))
    return id === undefined && items.length > maxServers ? [] : items.map(fromProfile);
  const { name, type } = document;
  const isDescription = typeof name === 'string' && (type === 'server' || type === 'remote');
  return isDescription && isServer(document) ? [{ name, server: document }] : [];
}

/** A profile's server, with the description from the time when it was added. */
function fromProfile(item: Fields): Described {
  const { config, endpoint, source, tools } = item;
  const server = inner(inner(item, 'snapshot'), 'server');
  const image = text(item['image']) ?? text(server['image']);
  const url = text(endpoint) ?? text(inner(server, 'remote')['url']);
  const remote = { ...inner(server, 'remote'), url };
  const name = text(server['name']) ?? text(source) ?? '';
  return { name, server: { ...server, image, remote }, config, tools };
}

/** A parameter of a server, by its path in templates: `github.owner`. */
interface Parameter {
  path: string;
  input: Input;
  default: string | undefined;
}

/** The parameters: JSON schemas, in the catalog one for each name, and in its source one without a name. */
function parametersOf(server: Fields): Parameter[] {
  const { config } = server;
  const own = { name: server['name'], ...inner(inner(server, 'config'), 'parameters') };
  return [own, ...listOf(config)].flatMap((schema) => propertiesOf(schema, text(schema['name']) ?? '', 0));
}

const maxDepth = 4;

function propertiesOf(schema: Fields, path: string, depth: number): Parameter[] {
  if (depth > maxDepth) return [];
  const required = list(schema['required']);
  return Object.entries(inner(schema, 'properties')).flatMap(([key, given]) => {
    const property = isObject(given) ? given : {};
    const { description, title, default: preset } = property;
    const input: Input = {
      description: text(description) ?? text(title) ?? '',
      secret: isCredential(key, 'value'),
      isOptional: !required.includes(key),
    };
    const here = `${path}.${key}`;
    const own = { path: here, input, default: scalar(preset) || undefined };
    return [own, ...propertiesOf(property, here, depth + 1)];
  });
}

/** A variable without a value is one that its author forgot to list among the secrets. */
function variablesOf(given: Fields): { name: string; value: string | undefined }[] {
  return listOf(flattened(given)['env']).flatMap(({ name: written, env = written, value }) => {
    const name = text(env);
    return name === undefined ? [] : [{ name, value: scalar(value) }];
  });
}

function secretsOf(given: Fields): { env: string; input: Input }[] {
  return listOf(flattened(given)['secrets']).flatMap(({ env, description, required }) => {
    const name = text(env);
    if (name === undefined) return [];
    const input = { description: text(description) ?? '', secret: true, isOptional: required === false };
    return [{ env: name, input }];
  });
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
  const parameters = new Map(parametersOf(server).map(({ path, ...parameter }) => [path, parameter.default]));
  const fill = (word: string): string => filled(word, config, parameters);
  const fillAll = (word: string): string[] => listIn(word, config) ?? [fill(word)];
  const secrets = secretsOf(server).map(({ env }) => [env, placeholderOf(env)] as const);
  const secretNames = new Set(secrets.map(([env]) => env));
  const withSecrets = (word: string): string =>
    word.replaceAll(/\$([A-Z_][A-Z0-9_]*)\b/g, (whole, name: string) =>
      secretNames.has(name) ? placeholderOf(name) : whole,
    );
  const variables = variablesOf(server).map(
    ({ name, value }) =>
      [name, value === undefined ? placeholderOf(name) : withSecrets(fill(value))] as const,
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
      ...words.filter((word) => typeof word === 'string').flatMap(fillAll),
    ],
    env: Object.fromEntries(env),
    volumes: server['volumes'],
    user: server['user'],
    allowHosts: server['allowHosts'],
    extraHosts: server['extraHosts'],
  };
}

const template = /\{\{\s*([\w.-]{1,100})\s*((?:\|[\w:[\]-]{0,50}){0,5})\}\}/;
const templates = new RegExp(template, 'g');

/**
 * `{{github.owner}}` and `{{filesystem.paths|volume|into}}`: a profile setting, a default, or a value that the user is asked for.
 * The default of a path is a place on its author's machine.
 */
function filled(word: string, config: Fields, defaults: ReadonlyMap<string, string | undefined>): string {
  return word.replaceAll(templates, (_whole, path: string, filters: string) => {
    const value = settingOf(path, config) ?? (filters.includes('|volume') ? undefined : defaults.get(path));
    return scalar(value) ?? placeholderOf(path);
  });
}

/** The longest list that becomes arguments. Each word of a command can repeat it. */
const maxListed = 100;

/** The words of a setting that is a list. */
function listIn(word: string, config: Fields): string[] | undefined {
  const [whole, path = ''] = template.exec(word) ?? [];
  const value = whole === word ? settingOf(path, config) : undefined;
  return Array.isArray(value) && value.length <= maxListed ? value.map(String) : undefined;
}

function settingOf(path: string, config: Fields): unknown {
  const [, ...keys] = path.split('.');
  if (keys.length === 0) return undefined;
  return keys.reduce<unknown>((outer, key) => (isObject(outer) ? outer[key] : undefined), config);
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
