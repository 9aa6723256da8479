import type { RegistryRemoteServer, RegistryServer } from '@toolhive/contract/registry';
import type { PermissionProfile } from '@toolhive/contract/permission-profile';
import { jsonPointer } from '@toolhive/contract/json-pointer';
import { isCredential } from '@toolhive/contract/credential';
import type { ImportPreview } from '@toolhive/contract/preview';
import type { CreateWorkload, WorkloadDetails } from '@toolhive/contract/workload';

/** A variable with its value: plain text, a stored secret, or a new secret that is stored first. */
export interface Variable {
  name: string;
  kind: 'text' | 'stored' | 'new-secret';
  /** The text, the name of the stored secret, or the value of the new one. */
  value: string;
  /** From the registry entry. */
  description?: string | undefined;
  isRequired?: boolean | undefined;
  isFixed?: boolean | undefined;
  /** A header of a remote server, instead of an environment variable. */
  isHeader?: boolean | undefined;
}

export interface Mount {
  source: string;
  target: string;
  isReadOnly: boolean;
}

/** The network access of a server: from its registry entry, the default, or the user. */
export type NetworkChoice = 'default' | 'none' | 'public' | 'hosts' | 'open';

/** A workload in the form's terms. */
export interface Draft {
  name: string;
  group: string;
  /** An image, a package, or a registry entry. Empty for a remote server. */
  image: string;
  /** The URL of a remote server. Empty for all others. */
  url: string;
  transport: string;
  arguments: string;
  variables: readonly Variable[];
  mounts: readonly Mount[];
  network: NetworkChoice;
  hosts: string;
  ports: string;
  /** Ports of this machine's loopback address. */
  localPorts: string;
  /** The server's ports that programs of this machine reach. */
  published: string;
  memory: string;
  cpus: string;
  toolPinning: string;
  sessions: string;
  isEphemeral: boolean;
  /** The unchanged settings that the form does not show. */
  others: Partial<CreateWorkload>;
}

export const emptyDraft: Draft = {
  name: '',
  group: 'default',
  image: '',
  url: '',
  transport: '',
  arguments: '',
  variables: [],
  mounts: [],
  network: 'default',
  hosts: '',
  ports: '443',
  localPorts: '',
  published: '',
  memory: '',
  cpus: '',
  toolPinning: 'warn',
  sessions: 'auto',
  isEphemeral: false,
  others: {},
};

/** A draft for a registry entry. */
export function draftOfEntry(entry: RegistryServer | RegistryRemoteServer, name: string): Draft {
  const variables = (entry.env_vars ?? []).map(
    ({ name: variable, description, required, secret, default: value = '' }): Variable => ({
      name: variable,
      kind: secret ? 'new-secret' : 'text',
      value,
      description,
      isRequired: required,
      isFixed: true,
    }),
  );
  const directory = 'image' in entry ? directoryOf(entry) : undefined;
  return {
    ...emptyDraft,
    name,
    image: name,
    variables,
    mounts: directory === undefined ? [] : [{ source: '', target: directory, isReadOnly: true }],
  };
}

/** The directory that the arguments of an entry name, which has to be mounted. */
function directoryOf({ args = [], package: packaged }: RegistryServer): string | undefined {
  return [...args, ...(packaged?.args ?? [])].find((argument) => /^\/[\w./-]+$/.test(argument));
}

/** A draft with everything that a workload has. */
export function draftOfWorkload(details: WorkloadDetails): Draft {
  const { outbound, mode } = details.permission_profile?.network ?? {};
  const network: NetworkChoice =
    mode !== undefined && mode !== ''
      ? 'default'
      : outbound?.insecure_allow_all === true
        ? 'open'
        : outbound?.allow_host !== undefined
          ? 'hosts'
          : outbound?.allow_port !== undefined
            ? 'public'
            : 'none';
  return {
    ...emptyDraft,
    name: details.name,
    group: details.group,
    image: details.remote ? '' : (details.image ?? ''),
    url: details.remote ? (details.url ?? '') : '',
    transport: details.transport ?? '',
    arguments: (details.cmd_arguments ?? []).join('\n'),
    variables: [
      ...Object.entries(details.env_vars ?? {}).map(([name, value]): Variable => ({
        name,
        kind: 'text',
        value,
      })),
      ...(details.secrets ?? []).map(({ name, target }): Variable => ({
        name: target,
        kind: 'stored',
        value: name,
      })),
    ],
    mounts: (details.volumes ?? []).map((volume) => {
      const isReadOnly = volume.endsWith(':ro');
      const [source = '', target = ''] = volume.replace(/:r[ow]$/, '').split(/:(?=\/)/);
      return { source, target, isReadOnly };
    }),
    network,
    hosts: (outbound?.allow_host ?? []).join('\n'),
    ports: (outbound?.allow_port ?? [443]).join(', '),
    localPorts: (details.local_ports ?? []).join(', '),
    published: (details.publish ?? []).join(', '),
    memory: details.resources === undefined ? '' : String(details.resources.memory),
    cpus: details.resources === undefined ? '' : String(details.resources.cpus),
    toolPinning: details.tool_pinning ?? 'warn',
    sessions: details.sessions ?? 'auto',
    isEphemeral: details.ephemeral === true,
    others: othersOf(details),
  };
}

/** The parts of a description that an edit takes and the form does not show. */
function othersOf(details: WorkloadDetails): Partial<CreateWorkload> {
  const {
    name: _name,
    package: _package,
    proxy_url: _url,
    port: _port,
    tool_type: _type,
    transport_type: _transport,
    status: _status,
    status_context: _context,
    created_at: _created,
    remote: _remote,
    protocol: _protocol,
    session_processes: _processes,
    sessions: _sessions,
    runtime: _runtime,
    resources: _resources,
    warnings: _warnings,
    limits: _limits,
    home: _home,
    integrity: _integrity,
    published_at: _publishedAt,
    provenance: _provenance,
    local_ports: _localPorts,
    publish: _published,
    ...others
  } = details;
  return others;
}

/** The lines of a text that are not empty. */
export const linesIn = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** The target of a secret for the field of a bundle. */
export const bundleTarget = (key: string): string => `user_config.${key}`;

/** Whether a variable belongs to the fields of a bundle. */
export const isBundleValue = ({ name }: Variable): boolean => name.startsWith(bundleTarget(''));

/** The draft for another source. The values for a bundle belong to that bundle. */
export function withImage(draft: Draft, image: string): Draft {
  const { user_config: _config, ...others } = draft.others;
  return { ...draft, image, others, variables: draft.variables.filter((one) => !isBundleValue(one)) };
}

const isGiven = ({ name, value }: Variable): boolean => name !== '' && value !== '';

/** The JSON pointer of a variable in the request that `requestOf` returns. Undefined if the request leaves it out. */
export function pointerOfVariable(variables: readonly Variable[], index: number): string | undefined {
  const variable = variables[index];
  if (variable === undefined || !isGiven(variable)) return undefined;
  if (variable.kind === 'text') return jsonPointer(['env_vars', variable.name]);
  const before = variables.slice(0, index).filter((each) => isGiven(each) && each.kind !== 'text');
  return jsonPointer(['secrets', before.length]);
}

/** The JSON pointer of a mount in the request that `requestOf` returns. Undefined if the request leaves it out. */
export function pointerOfMount(mounts: readonly Mount[], index: number): string | undefined {
  if (mounts[index]?.source === '') return undefined;
  return jsonPointer(['volumes', mounts.slice(0, index).filter(({ source }) => source !== '').length]);
}

/** The request for a draft. New secrets get the names that `secretNames` says. */
export function requestOf(
  draft: Draft,
  secretNames: ReadonlyMap<string, string> = new Map(),
): CreateWorkload {
  const given = draft.variables.filter(isGiven);
  const isRemote = draft.url !== '';
  const profile = profileOf(draft);
  const localPorts = portsIn(draft.localPorts);
  const published = wordsIn(draft.published);
  return {
    ...draft.others,
    ...(draft.name === '' ? {} : { name: draft.name }),
    group: draft.group,
    ...(isRemote ? { url: draft.url } : { image: draft.image }),
    ...(draft.transport === '' ? {} : { transport: draft.transport }),
    ...(isRemote
      ? headersOf(draft, given, secretNames)
      : {
          cmd_arguments: linesIn(draft.arguments),
          env_vars: Object.fromEntries(
            given.filter(({ kind }) => kind === 'text').map(({ name, value }) => [name, value]),
          ),
          secrets: given
            .filter(({ kind }) => kind !== 'text')
            .map(({ name, kind, value }) => ({
              name: kind === 'stored' ? value : (secretNames.get(name) ?? name),
              target: name,
            })),
          volumes: draft.mounts
            .filter(({ source }) => source !== '')
            .map(
              ({ source, target, isReadOnly }) => `${source}:${target || source}${isReadOnly ? ':ro' : ''}`,
            ),
          ...(profile === undefined ? {} : { permission_profile: profile }),
          ...(localPorts.length === 0 ? {} : { local_ports: localPorts }),
          ...(published.length === 0 ? {} : { publish: published }),
          ...(draft.memory === '' && draft.cpus === ''
            ? {}
            : {
                resources: {
                  ...(draft.memory === ''
                    ? {}
                    : { memory: /^\d+$/.test(draft.memory) ? Number(draft.memory) : draft.memory }),
                  ...(draft.cpus === '' ? {} : { cpus: Number(draft.cpus) }),
                },
              }),
          ...(draft.isEphemeral ? { ephemeral: true } : {}),
          sessions: draft.sessions as NonNullable<CreateWorkload['sessions']>, // the options of its field
        }),
    tool_pinning: draft.toolPinning as NonNullable<CreateWorkload['tool_pinning']>, // the options of its field
  };
}

const wordsIn = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '');

function portsIn(text: string): number[] {
  return wordsIn(text)
    .map(Number)
    .filter((port) => Number.isInteger(port) && port > 0);
}

/** The headers of a remote server: those of the draft, and the new ones, whose values are secrets. */
function headersOf(
  { others }: Draft,
  given: readonly Variable[],
  secretNames: ReadonlyMap<string, string>,
): Pick<CreateWorkload, 'headers'> {
  const added = given
    .filter(({ isHeader }) => isHeader === true)
    .map(({ name }) => ({
      name,
      description: '',
      required: true,
      secret: true,
      default: `${secretNames.get(name) ?? name},target=${name}`,
    }));
  const replaced = new Set(added.map(({ name }) => name.toLowerCase()));
  const kept = (others.headers ?? []).filter(({ name }) => !replaced.has(name.toLowerCase()));
  return added.length === 0 ? {} : { headers: [...kept, ...added] };
}

/** The profile that the user chose. Undefined for the entry's or the default profile. */
export function profileOf({ network, hosts, ports, others }: Draft): PermissionProfile | undefined {
  const allowPort = portsIn(ports);
  const base = others.permission_profile ?? {};
  const withOutbound = (outbound: object): PermissionProfile => ({
    ...base,
    network: { ...base.network, outbound },
  });
  switch (network) {
    case 'default':
      return others.permission_profile ?? undefined;
    case 'none':
      return withOutbound({});
    case 'public':
      return withOutbound({ allow_port: allowPort.length > 0 ? allowPort : [80, 443] });
    case 'hosts':
      return withOutbound({ allow_host: linesIn(hosts), allow_port: allowPort });
    case 'open':
      return withOutbound({ insecure_allow_all: true });
  }
}

/** The commands for a shell that run the same workload. They ask for the values of new secrets. */
export function asCommand(draft: Draft): string {
  const request = requestOf(draft);
  const profile = profileArguments(request);
  const words = [
    'thv',
    'run',
    ...(request.name === undefined ? [] : ['--name', request.name]),
    ...(request.group === undefined || request.group === 'default' ? [] : ['--group', request.group]),
    ...(request.transport === undefined || request.transport === ''
      ? []
      : ['--transport', request.transport]),
    ...(request.volumes ?? []).flatMap((volume) => ['--volume', volume]),
    ...(request.local_ports ?? []).flatMap((port) => ['--allow-local-port', String(port)]),
    ...(request.publish ?? []).flatMap((port) => ['--publish', port]),
    ...Object.entries(request.env_vars ?? {}).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
    ...(request.secrets ?? []).flatMap(({ name, target }) => ['--secret', `${name},target=${target}`]),
    ...Object.entries(request.user_config ?? {}).flatMap(([key, value]) =>
      [value].flat().flatMap((each) => ['--config', `${key}=${String(each)}`]),
    ),
    ...(request.resources?.memory === undefined ? [] : ['--memory', String(request.resources.memory)]),
    ...(request.resources?.cpus === undefined ? [] : ['--cpus', String(request.resources.cpus)]),
    ...(request.ephemeral === true ? ['--ephemeral'] : []),
    ...(request.sessions === undefined || request.sessions === 'auto'
      ? []
      : ['--sessions', request.sessions]),
    ...(request.tool_pinning === undefined || request.tool_pinning === 'warn'
      ? []
      : ['--tool-pinning', request.tool_pinning]),
    ...profile.words,
    request.url ?? request.image ?? '',
    ...(request.cmd_arguments?.length ? ['--', ...request.cmd_arguments] : []),
  ];
  const isRemote = request.url !== undefined;
  const newSecrets = isRemote
    ? []
    : draft.variables.filter((variable) => isGiven(variable) && variable.kind === 'new-secret');
  return [
    ...newSecrets.map(({ name }) => commandOf(['thv', 'secret', 'set', name])),
    ...profile.file,
    commandOf(words),
  ].join('\n');
}

function commandOf(words: readonly string[]): string {
  return words
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(' ');
}

/** The flags for a permission profile, and the lines that write its file. Hosts and ports have no flags. */
function profileArguments({ name, image = '', permission_profile: profile }: CreateWorkload): {
  words: readonly string[];
  file: readonly string[];
} {
  if (profile === undefined || profile === null) return { words: [], file: [] };
  const { network, ...others } = profile;
  const outbound = network?.outbound ?? {};
  const isBuiltIn =
    Object.keys(others).length === 0 && Object.keys(network ?? {}).every((key) => key === 'outbound');
  if (isBuiltIn && Object.keys(outbound).length === 0) {
    return { words: ['--permission-profile', 'none'], file: [] };
  }
  if (isBuiltIn && outbound.insecure_allow_all === true && outbound.allow_host === undefined) {
    return { words: ['--permission-profile', 'network', '--accept-risks'], file: [] };
  }
  const file = `${(name ?? image).replace(/^.*\//, '').replaceAll(/[^\w.-]+/g, '-') || 'server'}-profile.json`;
  return {
    words: ['--permission-profile', file],
    // No line of JSON consists of these letters only.
    file: [`cat > ${file} <<'EOF'`, JSON.stringify(profile, null, 2), 'EOF'],
  };
}

/** A value that an imported server needs. */
export type Need = ImportPreview['servers'][number]['needs'][number];

/** A draft for an imported server. Values that look like credentials become new secrets. */
export function draftOfRequest(request: CreateWorkload, name: string, needs: readonly Need[]): Draft {
  const {
    env_vars: env,
    secrets,
    volumes,
    image,
    url,
    group,
    cmd_arguments: args,
    transport,
    sessions,
    ...others
  } = request;
  return {
    ...emptyDraft,
    sessions: sessions ?? emptyDraft.sessions,
    name: request.name ?? name,
    group: group ?? 'default',
    image: image ?? '',
    url: url ?? '',
    transport: transport ?? '',
    arguments: (args ?? []).join('\n'),
    variables: [
      ...Object.entries(env ?? {}).map(([variable, value]): Variable => ({
        name: variable,
        kind: isCredential(variable, value) ? 'new-secret' : 'text',
        value,
      })),
      ...(secrets ?? []).map((secret): Variable => ({
        name: secret.target,
        kind: 'stored',
        value: secret.name,
      })),
      ...needs
        .filter(({ kind }) => kind === 'variable')
        .map(({ name: variable, description, secret }): Variable => ({
          name: variable,
          kind: secret ? 'new-secret' : 'text',
          value: '',
          description,
          isRequired: true,
          isFixed: true,
        })),
    ],
    mounts: (volumes ?? []).map((volume) => {
      const isReadOnly = volume.endsWith(':ro');
      const [source = '', target = ''] = volume.replace(/:r[ow]$/, '').split(/:(?=\/)/);
      return { source, target, isReadOnly };
    }),
    others,
  };
}

/** The draft with the user's answers to questions that the form does not ask. */
export function answeredDraft(
  draft: Draft,
  needs: readonly Need[],
  answers: Readonly<Record<string, string>>,
): Draft {
  const fill = (text: string): string =>
    needs.reduce((filled, { token, name }) => {
      const answer = answers[name] ?? '';
      return token === undefined || answer === '' ? filled : filled.split(token).join(answer);
    }, text);
  const headers = needs.flatMap(({ kind, name }): Variable[] =>
    kind === 'header' ? [{ name, kind: 'new-secret', value: answers[name] ?? '', isHeader: true }] : [],
  );
  return {
    ...draft,
    image: fill(draft.image),
    url: fill(draft.url),
    arguments: fill(draft.arguments),
    mounts: draft.mounts.map((mount) => ({
      ...mount,
      source: fill(mount.source),
      target: fill(mount.target),
    })),
    variables: [...draft.variables, ...headers],
  };
}
