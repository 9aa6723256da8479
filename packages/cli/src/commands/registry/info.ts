import { notFound } from '@toolhive/contract/failure';
import { defaultRegistry } from '@toolhive/contract/names';
import type { RegistryRemoteServer, RegistryServer } from '@toolhive/contract/registry';
import type { CommandCall } from '../../command.ts';
import { oneLine } from '../../out.ts';
import { countOf, nameOf, typeOf } from './entries.ts';
import type { Entry } from './entries.ts';

/** Tells all about a server of the registry. */
export async function run({ arguments: [name = ''], out, client, signal }: CommandCall): Promise<void> {
  const entry = await findEntry(name, { client, signal });
  out.result(entry, linesOf(entry).join('\n'));
}

async function findEntry(name: string, { client, signal }: Pick<CommandCall, 'client' | 'signal'>) {
  const daemon = await client();
  const params = { name: defaultRegistry, serverName: name };
  const { server, remote_server: remote } = await daemon.getRegistryServer({ params }, { signal });
  const entry = server ?? remote;
  if (entry === undefined) throw notFound(`the registry has no server ${name}`);
  return entry;
}

function linesOf(entry: Entry): string[] {
  const { status, tier, transport, description, repository_url: repository, metadata, tools, tags } = entry;
  return [
    ...label('Name', nameOf(entry)),
    ...label('Type', typeOf(entry)),
    ...label('Description', description),
    ...label('Tier', tier),
    ...label('Status', status),
    ...label('Transport', transport),
    ...('image' in entry ? containerLines(entry) : remoteLines(entry)),
    ...label('Repository', repository),
    ...label('Popularity', `${countOf(entry, 'stars')} stars, ${countOf(entry, 'pulls')} pulls`),
    ...label('Last updated', metadata?.last_updated),
    ...list('Tools', tools),
    ...list('Environment variables', (entry.env_vars ?? []).map(describeVariable)),
    ...label('Tags', tags?.join(', ')),
    ...list('Run it with', [exampleOf(entry)]),
  ];
}

function containerLines(entry: RegistryServer): string[] {
  const { image, package: other, target_port: port, provenance, permissions, custom_metadata: more } = entry;
  const { read = [], write = [], network, privileged } = permissions ?? {};
  const outbound = network?.outbound;
  return [
    ...label('Image', image),
    ...label('Package', other?.source),
    ...label('Target port', port === undefined ? undefined : String(port)),
    ...list('Arguments to add after --', textsIn(more?.['arguments'])),
    ...list(
      'Mounts to grant',
      textsIn(more?.['mounts']).map((mount) => `--volume DIRECTORY:${mount}`),
    ),
    ...label('Provenance', provenance === undefined ? 'no' : 'yes'),
    ...list('Permissions', [
      ...(privileged === true ? ['runs without any hardening'] : []),
      ...read.map((path) => `reads ${path}`),
      ...write.map((path) => `writes ${path}`),
      ...(network?.mode ? [`uses the network ${network.mode}`] : []),
      ...reachedHosts(outbound).map((host) => `reaches ${host}${onPorts(outbound?.allow_port)}`),
    ]),
  ];
}

/** A registry can have anything in its free fields. */
function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((text) => typeof text === 'string') : [];
}

type Outbound = NonNullable<NonNullable<RegistryServer['permissions']>['network']>['outbound'];

function reachedHosts(outbound: Outbound): readonly string[] {
  if (outbound?.insecure_allow_all === true) return ['every host'];
  const hosts = outbound?.allow_host ?? [];
  return hosts.length === 0 && (outbound?.allow_port ?? []).length > 0 ? ['every public host'] : hosts;
}

/** Hosts and ports are one grant: a host without its port cannot be reached. */
function onPorts(ports: readonly number[] = []): string {
  return ports.length === 0 ? '' : ` on port ${ports.join(' or ')}`;
}

function remoteLines({ url, headers, oauth_config: oauth }: RegistryRemoteServer): string[] {
  return [
    ...label('URL', url),
    ...list('Headers', (headers ?? []).map(describeVariable)),
    ...list('Signing in (OAuth)', [
      ...(oauth?.issuer === undefined ? [] : [`at ${oauth.issuer}`]),
      ...(oauth?.authorize_url === undefined ? [] : [`at ${oauth.authorize_url}`]),
      ...(oauth?.client_id === undefined ? [] : [`as the client ${oauth.client_id}`]),
      ...(oauth?.scopes?.length ? [`for ${oauth.scopes.join(', ')}`] : []),
    ]),
  ];
}

type Variable = NonNullable<Entry['env_vars']>[number];

/** A variable or a header, and the facts that help to choose its value. */
function describeVariable({ name, description, required, secret, default: preset }: Variable): string {
  const marks = [
    ...(required ? ['required'] : []),
    ...(secret ? ['secret'] : []),
    ...(preset === undefined ? [] : [`default ${preset}`]),
  ];
  return `${name}${marks.length === 0 ? '' : ` (${marks.join(', ')})`}${description === '' ? '' : `: ${description}`}`;
}

/** A command line that starts the server, with all required values. */
function exampleOf(entry: Entry): string {
  const needed = 'image' in entry ? (entry.env_vars ?? []).filter(({ required }) => required) : [];
  const flags = needed.map(({ name, secret }) =>
    secret ? `--secret NAME,target=${name}` : `--env ${name}=VALUE`,
  );
  return ['thv run', ...flags, nameOf(entry)].join(' ');
}

function label(title: string, text: string | undefined): string[] {
  const line = oneLine(text ?? '');
  return line === '' ? [] : [`${title}: ${line}`];
}

function list(title: string, texts: readonly string[]): string[] {
  return texts.length === 0 ? [] : [`${title}:`, ...texts.map((text) => `  - ${oneLine(text)}`)];
}
