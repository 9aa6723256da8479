import { resolve } from 'node:path';
import { ThvError, invalid } from '@toolhive/contract/failure';
import { header } from '@toolhive/contract/header-forward';
import type { InputProblem } from '@toolhive/contract/failure';
import { isLoopback } from '@toolhive/contract/loopback';
import { AuditConfig } from '@toolhive/contract/observation';
import { readResource, resourceNames, resourceRules } from '@toolhive/contract/resources';
import type { ResourceName } from '@toolhive/contract/resources';
import { PermissionProfile, builtInProfiles } from '@toolhive/contract/permission-profile';
import { riskNames } from '@toolhive/contract/risk';
import type { Risk } from '@toolhive/contract/risk';
import type { CreateWorkload } from '@toolhive/contract/workload';
import type { FlagValue, FlagValues } from '../../command.ts';
import { readText } from '../../read-text.ts';
import { parseSecret } from './secret-reference.ts';
import { localPortsFrom } from '../port.ts';
import { clientSecretFlags } from '../client-secret.ts';
import { readAssignments, readEnvFile, readEnvFolder, readJsonObject, readPairs } from './assignments.ts';

/** A request field and its flags. Absent if none of the flags is given. */
interface FlagMapping {
  field: keyof CreateWorkload;
  flags: readonly string[];
  /** The only kind of server that the flags apply to. */
  only?: ServerKind;
  /** In a field with an object: the flag of each key. */
  keys?: Readonly<Record<string, string>>;
  read: (flags: FlagValues) => unknown;
}

/** Whether a server is local or remote. */
export type ServerKind = 'local' | 'remote';

const mappings: readonly FlagMapping[] = [
  plain('name', 'name'),
  plain('group', 'group'),
  plain('transport', 'transport'),
  plain('host', 'host'),
  plain('insecure_no_auth', 'insecure-no-auth'),
  plain('proxy_port', 'proxy-port'),
  plain('proxy_mode', 'proxy-mode'),
  plain('sessions', 'sessions'),
  plain('trust_proxy_headers', 'trust-proxy-headers'),
  plain('allowed_origins', 'allow-origin', asList),
  plain('authz_config', 'authz-config', asPath),
  plain('tool_pinning', 'tool-pinning'),
  plain('tools', 'tools', (names) => asList(names).flatMap((name) => name.split(','))),
  plain('labels', 'label', (texts) => readAssignments('label', asList(texts))),
  {
    ...plain('url_variables', 'url-variable', (texts) => readAssignments('url-variable', asList(texts))),
    only: 'remote',
  },
  local(plain('target_port', 'target-port')),
  local(plain('target_host', 'target-host', (host) => (isLoopback(String(host)) ? undefined : host))),
  local(plain('network_mode', 'network')),
  local(
    plain('local_ports', 'allow-local-port', (texts) => localPortsFrom(asList(texts), 'allow-local-port')),
  ),
  local(plain('publish', 'publish', (texts) => asList(texts).map(withoutLoopback))),
  local(plain('network_isolation', 'isolate-network')),
  local(plain('learn', 'learn')),
  local(plain('accepted_risks', 'accept-risks', (isOn) => (isOn === true ? riskNames : []))),
  local(plain('image_verification', 'image-verification')),
  local(plain('k8s_pod_template_patch', 'k8s-pod-patch')),
  local(plain('secrets', 'secret', (texts) => asList(texts).map(parseSecret))),
  local(plain('python_with', 'with', asList)),
  local(plain('python_version', 'python')),
  local(plain('python_exclude_newer', 'exclude-newer')),
  local(plain('python_prerelease', 'prerelease')),
  local(plain('allow_scripts', 'allow-scripts', asList)),
  local(plain('ephemeral', 'ephemeral')),
  local(plain('volumes', 'volume', (texts) => asList(texts).map(withAbsoluteSource))),
  local(plain('permission_profile', 'permission-profile', (name) => readProfile(String(name)))),
  local(plain('ca_certificate', 'ca-cert', (file) => readText(String(file), '--ca-cert'))),
  local({ field: 'env_vars', flags: ['env', 'env-file', 'env-file-dir'], read: readEnvironment }),
  local(
    section(
      'resources',
      Object.fromEntries(resourceNames.map((name) => [name, [resourceRules[name].flag, asResource(name)]])),
    ),
  ),
  local(
    section('ignore_config', { loadGlobal: 'ignore-globally', printOverlays: 'print-resolved-overlays' }),
  ),
  plain('tools_override', 'tools-override', async (file) => {
    const flag = '--tools-override';
    const { toolsOverride: overrides } = await readJsonObject(String(file), flag);
    if (overrides === undefined) throw invalid(`invalid ${flag}: ${String(file)} has no key toolsOverride`);
    return overrides;
  }),
  { field: 'audit_config', flags: ['enable-audit', 'audit-config'], read: readAudit },
  section('telemetry_config', {
    endpoint: 'otel-endpoint',
    serviceName: 'otel-service-name',
    tracingEnabled: 'otel-tracing-enabled',
    metricsEnabled: 'otel-metrics-enabled',
    samplingRate: 'otel-sampling-rate',
    insecure: 'otel-insecure',
    enablePrometheusMetricsPath: 'otel-enable-prometheus-metrics-path',
    environmentVariables: 'otel-env-vars',
    headers: ['otel-headers', (texts) => readAssignments('otel-headers', asList(texts))],
    customAttributes: [
      'otel-custom-attributes',
      (text) => readAssignments('otel-custom-attributes', String(text).split(',')),
    ],
  }),
  withSecretFromEnvironment(
    section('oidc', {
      issuer: 'oidc-issuer',
      audience: 'oidc-audience',
      jwks_url: 'oidc-jwks-url',
      introspection_url: 'oidc-introspection-url',
      client_id: 'oidc-client-id',
      client_secret: 'oidc-client-secret',
      resource_url: 'resource-url',
      scopes: 'oidc-scopes',
      allow_private_ip: 'jwks-allow-private-ip',
      insecure_allow_http: 'oidc-insecure-allow-http',
      auth_token_file: ['jwks-auth-token-file', asPath],
      ca_bundle: ['thv-ca-bundle', asPath],
    }),
  ),
  withFlags(
    clientSecretFlags.token_exchange,
    section('token_exchange', {
      token_url: 'token-exchange-url',
      audience: 'token-exchange-audience',
      client_id: 'token-exchange-client-id',
      scopes: 'token-exchange-scopes',
      subject_token_type: 'token-exchange-subject-token-type',
      header_name: 'token-exchange-header-name',
    }),
  ),
  // ToolHive signs in whenever the server requires it, so --remote-auth alone changes nothing.
  withFlags(['remote-auth', ...clientSecretFlags.oauth_config], {
    ...section('oauth_config', {
      issuer: 'remote-auth-issuer',
      authorize_url: 'remote-auth-authorize-url',
      token_url: 'remote-auth-token-url',
      client_id: 'remote-auth-client-id',
      scopes: 'remote-auth-scopes',
      resource: 'remote-auth-resource',
      skip_browser: 'remote-auth-skip-browser',
      callback_port: 'remote-auth-callback-port',
      timeout: ['remote-auth-timeout', (ms) => `${Number(ms)}ms`],
    }),
    only: 'remote',
  }),
  {
    field: 'headers',
    flags: ['remote-forward-headers', 'remote-forward-headers-secret'],
    only: 'remote',
    read: readHeaders,
  },
];

/** The names of all flags that become part of a request. */
export function requestFlags(): string[] {
  return mappings.flatMap(({ flags }) => flags);
}

/** Converts the flags of `thv run` to a request. Refuses flags that do not apply to this kind of server. */
export async function requestFrom(flags: FlagValues, kind: ServerKind): Promise<CreateWorkload> {
  const request: Partial<Record<keyof CreateWorkload, unknown>> = {};
  for (const { field, flags: names, only, read } of mappings) {
    const given = names.filter((name) => flags.isGiven(name));
    if (given.length === 0) continue;
    if (only !== undefined && only !== kind) {
      throw invalid(`${asFlags(given)} is not supported for ${described[kind]}`, { hint: 'omit it' });
    }
    request[field] = await read(flags);
  }
  const typed = kind === 'local' ? typedRisks(flags) : [];
  if (typed.length > 0) {
    request.accepted_risks = [
      ...new Set([...((request.accepted_risks as Risk[] | undefined) ?? []), ...typed]),
    ];
  }
  return request as CreateWorkload; // the daemon validates the value
}

/**
 * The risks for which the user has explicitly typed words with this meaning. A file is different, because another person
 * may have written it.
 */
function typedRisks(flags: FlagValues): Risk[] {
  const isIsolationOff = flags.isGiven('isolate-network') && !flags.has('isolate-network');
  const isOpen = isIsolationOff || flags.text('permission-profile') === 'network';
  return [
    ...(isOpen ? ['open-network' as const] : []),
    ...(flags.isGiven('allow-local-port') ? ['local-ports' as const] : []),
    ...(flags.isGiven('allow-origin') ? ['allow-origins' as const] : []),
    ...(flags.isGiven('publish') ? ['publish-ports' as const] : []),
  ];
}

/** Docker's form names the address, which is always the loopback address here. */
const withoutLoopback = (text: string): string => text.replace(/^(?:127\.0\.0\.1|localhost):(?=\d)/, '');

const described: Record<ServerKind, string> = {
  local: 'a local server',
  remote: 'a remote server',
};

/** The same failure, with the flags that the user typed instead of the fields of the request. */
export function namingFlags(thrown: unknown, flags: FlagValues): unknown {
  if (!(thrown instanceof ThvError)) return thrown;
  const { kind, hint, problems } = thrown;
  const message = problems.reduce(withFlagsForKeys, thrown.message);
  if (kind === 'not-implemented') {
    const given = givenFor(fieldIn(message), flags);
    return given.length === 0
      ? thrown
      : new ThvError(kind, message, { hint: `omit ${asFlags(given)}`, cause: thrown });
  }
  if (kind !== 'invalid') return thrown;
  const named = problems.reduce((text, problem) => withFlag(text, problem, flags), message);
  const renamed = named === message ? withFieldAsFlag(message, flags) : named;
  return renamed === thrown.message ? thrown : new ThvError(kind, renamed, { hint, problems, cause: thrown });
}

/** Replaces the keys of an object, such as `token_url`, with the flags that set them. */
function withFlagsForKeys(message: string, { pointer }: InputProblem): string {
  const keys = mappings.find(({ field }) => field === pointer?.split('/')[1])?.keys ?? {};
  return Object.entries(keys).reduce((text, [key, flag]) => {
    const isName = key.includes('_') || text.startsWith(`${key} `);
    return isName ? text.replaceAll(new RegExp(`(?<![-\\w])${key}\\b`, 'g'), `--${flag}`) : text;
  }, message);
}

/** The message with the flag that caused one of its problems, if the user typed the flag. */
function withFlag(message: string, { pointer, detail }: InputProblem, flags: FlagValues): string {
  const path = pointer?.split('/').slice(1) ?? [];
  const given = givenFor(path[0], flags, path[1]);
  if (given.length === 0 || given.some((name) => message.includes(`--${name}`))) return message;
  const problem = `${path.join('.')}: ${detail}`;
  if (!message.includes(problem)) {
    return message.startsWith(detail) ? `invalid ${asFlags(given)}: ${message}` : message;
  }
  // The rest of the path is a place in the file or value of the flag.
  const rest = path.slice(isSection(path[0]) ? 2 : 1).filter((part) => !/^\d+$/.test(part));
  const place = rest.length === 0 ? '' : `${rest.join('.')}: `;
  return message.replace(problem, `invalid ${asFlags(given)}: ${place}${detail}`);
}

/** Fields without an underscore have names that are also ordinary words. */
function withFieldAsFlag(message: string, flags: FlagValues): string {
  const field = fieldIn(message);
  const given = field?.includes('_') === true ? givenFor(field, flags) : [];
  return field === undefined || given.length === 0 ? message : message.replace(field, asFlags(given));
}

/** The field of a request that a message mentions. */
function fieldIn(message: string): string | undefined {
  return mappings.find(({ field }) => new RegExp(`\\b${field}\\b`).test(message))?.field;
}

/** The typed flags of a field, or of a key in the field. */
function givenFor(field: string | undefined, flags: FlagValues, key?: string): string[] {
  const typed = flags.given();
  const mapping = mappings.find((candidate) => candidate.field === field);
  const ofKey = key === undefined ? undefined : mapping?.keys?.[key];
  return (ofKey === undefined ? (mapping?.flags ?? []) : [ofKey]).filter((name) => typed.includes(name));
}

function isSection(field: string | undefined): boolean {
  return mappings.some((candidate) => candidate.field === field && candidate.keys !== undefined);
}

function asFlags(names: readonly string[]): string {
  return names.map((name) => `--${name}`).join(' and ');
}

type Convert = (value: FlagValue) => unknown;

function plain(field: FlagMapping['field'], name: string, convert: Convert = (value) => value): FlagMapping {
  return { field, flags: [name], read: (flags) => convert(flags.value(name) ?? '') };
}

/** An object with a key for each of several flags, as far as they are given. */
function section(
  field: FlagMapping['field'],
  keys: Record<string, string | readonly [string, Convert]>,
): FlagMapping {
  const parts = Object.entries(keys).map(([key, source]) => {
    const [name, convert]: readonly [string, Convert] =
      typeof source === 'string' ? [source, (value) => value] : source;
    return { key, name, convert };
  });
  return {
    field,
    flags: parts.map(({ name }) => name),
    keys: Object.fromEntries(parts.map(({ key, name }) => [key, name])),
    read: (flags) =>
      Object.fromEntries(
        parts
          .filter(({ name }) => flags.isGiven(name))
          .map(({ key, name, convert }) => [key, convert(flags.value(name) ?? '')]),
      ),
  };
}

/** From the environment, which other users cannot see, unlike the command line. */
function withSecretFromEnvironment(mapping: FlagMapping): FlagMapping {
  return {
    ...mapping,
    read: (flags) => ({
      client_secret: process.env['TOOLHIVE_OIDC_CLIENT_SECRET'],
      ...(mapping.read(flags) as object), // a section is an object
    }),
  };
}

function withFlags(names: readonly string[], mapping: FlagMapping): FlagMapping {
  return { ...mapping, flags: [...names, ...mapping.flags] };
}

function local(mapping: FlagMapping): FlagMapping {
  return { ...mapping, only: 'local' };
}

/** The flag as typed, so that errors can name it. */
function asResource(name: ResourceName): Convert {
  return (value) => {
    const text = String(value);
    try {
      readResource(name, text);
    } catch (thrown) {
      if (!(thrown instanceof ThvError)) throw thrown;
      const message = `invalid --${resourceRules[name].flag}: ${thrown.message}`;
      throw invalid(message, { hint: thrown.hint, cause: thrown });
    }
    return text;
  };
}

function asList(value: FlagValue): readonly string[] {
  return Array.isArray(value) ? (value as readonly string[]) : [];
}

/** The daemon has a different working directory, so paths become absolute here. */
function asPath(value: FlagValue): string {
  return resolve(String(value));
}

async function readEnvironment(flags: FlagValues): Promise<Record<string, string>> {
  const [folder, file] = [flags.text('env-file-dir'), flags.text('env-file')];
  return {
    ...(folder === undefined ? {} : await readEnvFolder(folder, '--env-file-dir')),
    ...(file === undefined ? {} : await readEnvFile(file, '--env-file')),
    ...readAssignments('env', flags.list('env')),
  };
}

function readHeaders(flags: FlagValues): CreateWorkload['headers'] {
  const [plainFlag, secretFlag] = ['remote-forward-headers', 'remote-forward-headers-secret'];
  return [
    ...readPairs(plainFlag, flags.list(plainFlag)).map(([name, value]) => header(name, false, value)),
    ...readPairs(secretFlag, flags.list(secretFlag)).map(([name, secret]) =>
      header(name, true, `${secret},target=${name}`),
    ),
  ];
}

/** The original's default for recorded data. */
const auditedBytes = 1024;

async function readAudit(flags: FlagValues): Promise<unknown> {
  const file = flags.text('audit-config');
  if (file !== undefined) {
    const given = await readJsonObject(file, '--audit-config');
    const { success, data: config = given } = AuditConfig.safeParse(given); // the daemon reports errors in the file
    const { log_file: log } = success ? config : {};
    return typeof log === 'string' && log !== '' ? { ...config, log_file: resolve(log) } : config;
  }
  return flags.has('enable-audit') ? { max_data_size: auditedBytes } : undefined;
}

function withAbsoluteSource(volume: string): string {
  const [host = '', ...others] = volume.split(':');
  if (host === '' || others.length === 0) {
    throw invalid(`invalid --volume: ${JSON.stringify(volume)} is not a volume`, {
      hint: 'use the form HOST:CONTAINER or HOST:CONTAINER:ro',
    });
  }
  return [resolve(host), ...others].join(':');
}

/** Reads a built-in profile or a file. What is wrong in a file, the daemon says. */
export async function readProfile(nameOrPath: string): Promise<unknown> {
  if (nameOrPath === 'stdio') return builtInProfiles.none;
  if (Object.hasOwn(builtInProfiles, nameOrPath))
    return builtInProfiles[nameOrPath as keyof typeof builtInProfiles];
  const flag = '--permission-profile';
  const profile = await readJsonObject(nameOrPath, flag);
  const { data: understood } = PermissionProfile.safeParse(profile); // the daemon reports errors in the profile
  const unknown = understood && unknownKey(profile, understood);
  if (unknown === undefined) return profile;
  // A misspelled key grants nothing, which users should know.
  throw invalid(`invalid ${flag}: ${nameOrPath} has the unknown key ${unknown}`, {
    hint: 'check the spelling, or remove a key of another version. Run thv export to see the profile as ToolHive reads it',
  });
}

/** The path of the first unknown key. */
function unknownKey(given: unknown, understood: unknown): string | undefined {
  if (!isObject(given) || !isObject(understood)) return undefined;
  for (const [key, value] of Object.entries(given)) {
    if (!Object.hasOwn(understood, key)) return key;
    const below = unknownKey(value, understood[key]);
    if (below !== undefined) return `${key}.${below}`;
  }
  return undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
