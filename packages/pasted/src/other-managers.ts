import type { Found } from './client-document.ts';
import { inner, list, text } from './fields.ts';
import type { Fields } from './fields.ts';
import { isObject } from './parse-document.ts';

/**
 * The servers in the files of other managers, as client entries: the configuration of agentgateway, a catalog entry of Obot,
 * an export of ContextForge, a workflow of n8n, and the card with which a server announces itself. Empty for other documents.
 */
export function serversOfManagers(document: unknown): Found[] {
  if (!isObject(document)) return [];
  return [
    ...gatewayTargets(document, 0),
    ...catalogEntry(document),
    ...federatedGateways(document),
    ...workflowNodes(document),
    ...announced(document),
  ];
}

const maxDepth = 12;

/** The targets of agentgateway, at any place: `mcp: {targets: [{name, stdio: {cmd, args}}, {name, mcp: {host}}]}`. */
function gatewayTargets(value: unknown, depth: number): Found[] {
  if (depth > maxDepth) return [];
  if (Array.isArray(value)) return value.flatMap((item: unknown) => gatewayTargets(item, depth + 1));
  if (!isObject(value)) return [];
  const targets = inner(value, 'mcp')['targets'];
  const own = Array.isArray(targets) ? targets.filter(isObject).map(gatewayTarget) : [];
  return [...own, ...Object.values(value).flatMap((item) => gatewayTargets(item, depth + 1))];
}

function gatewayTarget(target: Fields): Found {
  const { cmd, args, env } = inner(target, 'stdio');
  const isSse = isObject(target['sse']);
  const { host, port, path } = inner(target, isSse ? 'sse' : 'mcp');
  const entry =
    cmd === undefined
      ? { url: addressOf(text(host), port, path, isSse), ...type(isSse) }
      : { command: cmd, args, env };
  return { name: text(target['name']) ?? '', path: [], entry };
}

/** A whole URL, or a name with a port and a path. */
function addressOf(
  host: string | undefined,
  port: unknown,
  path: unknown,
  isSse: boolean,
): string | undefined {
  if (host === undefined || /^https?:\/\//i.test(host)) return host;
  const behind = typeof port === 'number' ? `:${port}` : '';
  return `${port === 443 ? 'https' : 'http'}://${host}${behind}${text(path) ?? (isSse ? '/sse' : '/mcp')}`;
}

/** A catalog entry of Obot: `runtime: npx` with `npxConfig`, and others. Values that it asks for are placeholders. */
function catalogEntry(document: Fields): Found[] {
  const { runtime, name } = document;
  const [npx, uvx] = [inner(document, 'npxConfig'), inner(document, 'uvxConfig')];
  const [container, remote] = [inner(document, 'containerizedConfig'), inner(document, 'remoteConfig')];
  const env = askedFor(document['env']);
  const started = (command: string, args: readonly unknown[]): Found[] => [
    { name: text(name) ?? '', path: [], entry: { command, args, env } },
  ];
  if (runtime === 'npx' && text(npx['package']) !== undefined)
    return started('npx', ['-y', npx['package'], ...list(npx['args'])]);
  if (runtime === 'uvx' && text(uvx['package']) !== undefined) {
    const program = text(uvx['command']);
    const spec = program === undefined ? [uvx['package']] : ['--from', uvx['package'], program];
    return started('uvx', [...spec, ...list(uvx['args'])]);
  }
  if (runtime === 'containerized' && text(container['image']) !== undefined) {
    const { image, port } = container;
    const ports = typeof port === 'number' ? ['-p', `${port}:${port}`] : [];
    const variables = Object.keys(env).flatMap((each) => ['-e', each]);
    return started('docker', [
      'run',
      '-i',
      '--rm',
      ...ports,
      ...variables,
      image,
      ...list(container['args']),
    ]);
  }
  const url = text(remote['fixedURL']);
  if (runtime !== 'remote' || url === undefined) return [];
  return [{ name: text(name) ?? '', path: [], entry: { url, headers: askedFor(remote['headers']) } }];
}

/** The required values. Those without a value are asked for. */
function askedFor(given: unknown): Record<string, string> {
  const fields = list(given)
    .filter(isObject)
    .flatMap(({ key, value, required }) => {
      const name = text(key);
      const known = text(value);
      if (name === undefined || (known === undefined && required !== true)) return [];
      return [[name, known ?? `\${${name}}`] as const];
    });
  return Object.fromEntries(fields);
}

/** The gateways in an export of ContextForge. Their credentials are encrypted in it. */
function federatedGateways(document: Fields): Found[] {
  const gateways = list(inner(document, 'entities')['gateways']).filter(isObject);
  return gateways
    .filter(({ url }) => text(url) !== undefined)
    .map(({ name, url, transport, auth_type: kind, enabled }) => ({
      name: text(name) ?? '',
      path: [],
      entry: {
        url,
        ...type(transport === 'SSE'),
        ...(kind === 'bearer' ? bearer : {}),
        ...(enabled === false ? { disabled: true } : {}),
      },
    }));
}

/** The tools of n8n that reach a server. Their credentials are outside of the workflow. */
function workflowNodes(document: Fields): Found[] {
  const nodes = list(document['nodes']).filter(isObject);
  return nodes
    .filter((node) => /\.mcpClient(?:Tool)?$/.test(text(node['type']) ?? ''))
    .flatMap((node) => {
      const { endpointUrl, sseEndpoint, serverTransport, authentication } = inner(node, 'parameters');
      const url = text(endpointUrl) ?? text(sseEndpoint);
      if (url === undefined) return [];
      const isSse = serverTransport === 'sse' || endpointUrl === undefined;
      const headers = authentication === 'bearerAuth' ? bearer : {};
      return [{ name: text(node['name']) ?? '', path: [], entry: { url, ...type(isSse), ...headers } }];
    });
}

/** A server card: `{serverInfo: {name}, transport: {type, endpoint}}`. A path means the unknown host of the card. */
function announced(document: Fields): Found[] {
  const { type: kind, endpoint, url = endpoint } = inner(document, 'transport');
  const address = text(url);
  if (!isObject(document['serverInfo']) || !/^https?:\/\//i.test(address ?? '')) return [];
  const name = text(document['name']) ?? text(inner(document, 'serverInfo')['name']) ?? '';
  return [{ name, path: [], entry: { url: address, ...type(kind === 'sse') } }];
}

const bearer = { headers: { Authorization: 'Bearer ${TOKEN}' } };

function type(isSse: boolean): { type?: 'sse' } {
  return isSse ? { type: 'sse' } : {};
}
