import { homedir } from 'node:os';
import { relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { isCredential, replaceCredentials, replaceUrlCredentials } from '@toolhive/contract/credential';
import { invalid } from '@toolhive/contract/failure';
import { builtInProfiles } from '@toolhive/contract/permission-profile';
import type { PermissionProfile } from '@toolhive/contract/permission-profile';
import { projectSchemaId, projectVersion } from '@toolhive/contract/project';
import type { ExportProject, ExportedProject, ProjectGroup, ProjectServer } from '@toolhive/contract/project';
import { sessionsOf } from '@toolhive/contract/run-config';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { Core } from '@toolhive/core/core';
import { getWorkload } from '@toolhive/core/describe';
import { isOfSwitch } from '@toolhive/core/groups';
import { exportWorkload } from '@toolhive/core/operate';
import { stringify } from 'yaml';
import { projectLabel } from './plan.ts';

/** Writes workloads as a project file. Credentials become references, and settings of this machine are left out. */
export async function exportProject(
  core: Core,
  { names, group, directory }: ExportProject,
): Promise<ExportedProject> {
  if (names !== undefined && names.length > 0 && group !== undefined)
    throw invalid('names and group cannot be used together', { hint: 'specify only one of them' });
  if (group !== undefined) core.groups.require(group);
  const chosen = names?.length
    ? names
    : group === undefined
      ? core.workloads.all().map(({ runConfig }) => runConfig.name)
      : core.workloads.inGroup(group);
  if (chosen.length === 0) throw invalid('no workload to export', { hint: 'run one first, with thv run' });
  const notes: string[] = [];
  const servers: Record<string, ProjectServer> = {};
  for (const name of new Set(chosen)) {
    const runConfig = exportWorkload(core, name);
    if (isOfSwitch(runConfig)) continue; // its group is in the file
    if (runConfig.built_in !== undefined) {
      notes.push(`${name} is part of ToolHive, and is not in the file`);
      continue;
    }
    const note = (text: string): void => {
      notes.push(`${name}: ${text}`);
    };
    servers[name] = await serverOf(core, runConfig, { directory, note });
  }
  const comment = `# yaml-language-server: $schema=${projectSchemaId}\n`;
  const groups = groupsOf(core, servers);
  const document = { version: projectVersion, ...(groups === undefined ? {} : { groups }), servers };
  return { document: comment + stringify(document, { lineWidth: 0 }), notes };
}

/** The groups of servers that have an endpoint or a description. */
function groupsOf(
  core: Core,
  servers: Readonly<Record<string, ProjectServer>>,
): Record<string, ProjectGroup> | undefined {
  const named = new Set(Object.values(servers).flatMap(({ group }) => group ?? []));
  const groups = core.groups
    .all()
    .filter(({ name, endpoint }) => named.has(name) && endpoint !== undefined)
    .map(({ name, description, endpoint, tools }): [string, ProjectGroup] => [
      name,
      withoutAbsent({ description, endpoint, tools: tools?.length ? [...tools] : undefined }),
    ]);
  return groups.length === 0 ? undefined : Object.fromEntries(groups);
}

interface Context {
  directory: string | undefined;
  note: (text: string) => void;
}

async function serverOf(
  core: Core,
  runConfig: RunConfig,
  { directory, note }: Context,
): Promise<ProjectServer> {
  const { name, remote_url: url, image = '', transport, target_port: target, group } = runConfig;
  const details = await getWorkload(core, name);
  const paths = (text: string): string => portablePath(text, directory);
  const asVariable = (word: string): string => `\${${word.toUpperCase().replaceAll(/\W+/g, '_') || 'KEY'}}`;
  const hidden = (word: string): string => {
    note(`a credential is not in the file. Set ${asVariable(word).slice(2, -1)} before thv up`);
    return asVariable(word);
  };
  const isRemote = Boolean(url);
  const sessions = sessionsOf(runConfig);
  const args = replaceCredentials(
    (runConfig.cmd_args ?? []).map((arg) => arg.replaceAll(/\$\{secret:(\w+)\}/g, '${$1}')),
    hidden,
  );
  const inArgs = new Set(
    (runConfig.cmd_args ?? []).flatMap((arg) =>
      [...arg.matchAll(/\$\{secret:(\w+)\}/g)].map(([, word = '']) => word),
    ),
  );
  const env = Object.entries(runConfig.env_vars ?? {}).map(([key, value]) => [
    key,
    isCredential(key, value) ? hidden(key) : value,
  ]);
  const headers = (runConfig.remote_auth_config?.headers ?? []).filter(({ default: value }) => value);
  const plain = headers
    .filter(({ secret }) => !secret)
    .map(({ name: key, default: value = '' }) => [key, isCredential(key, value) ? hidden(key) : value]);
  const secrets = isRemote
    ? headers
        .filter(({ secret }) => secret)
        .map(({ name: key, default: value = '' }) => [key, value.split(',target=')[0]])
    : details.secrets
        ?.filter(({ target: key }) => !inArgs.has(key))
        .map((secret) => [secret.target, secret.name]);
  for (const word of inArgs) note(`a credential is not in the file. Set ${word} before thv up`);
  noteOmitted(runConfig, note);
  const object = (
    entries: readonly (readonly unknown[])[] | undefined,
  ): Record<string, string> | undefined =>
    entries?.length ? (Object.fromEntries(entries) as Record<string, string>) : undefined;
  return withoutAbsent({
    source: isRemote
      ? replaceUrlCredentials((url ?? '').replaceAll(/\$(?:\{|%7B)secret:(\w+)(?:\}|%7D)/gi, '${$1}'), hidden)
      : image.replace(
          /^([a-z]+:\/\/)(\/.*?)(?:@local-[0-9a-f]{16})?(#program=[\w.-]+)?$/,
          (_all, scheme: string, path: string, program = '') => scheme + paths(path) + String(program),
        ),
    args: args.length === 0 ? undefined : args,
    env: object(env),
    secrets: object(secrets),
    headers: isRemote ? object(plain) : undefined,
    volumes: runConfig.volumes?.length ? runConfig.volumes.map(paths) : undefined,
    permissions: isRemote ? undefined : permissionsOf(runConfig.permission_profile ?? {}, paths),
    transport: transport === (isRemote ? 'streamable-http' : 'stdio') ? undefined : transport,
    proxy_mode: runConfig.proxy_mode === 'sse' ? 'sse' : undefined,
    target_port: !isRemote && transport !== 'stdio' && target ? target : undefined,
    group: group === 'default' ? undefined : group,
    user_config: absentIfEmpty(runConfig.user_config),
    python_with: runConfig.python_with?.length ? runConfig.python_with : undefined,
    python_version: runConfig.python_version || undefined,
    python_exclude_newer: runConfig.python_exclude_newer || undefined,
    python_prerelease: runConfig.python_prerelease,
    allow_scripts: runConfig.allow_scripts?.length ? runConfig.allow_scripts : undefined,
    ephemeral: runConfig.ephemeral === true ? true : undefined,
    resources: absentIfEmpty(runConfig.resources),
    sessions: sessions === (isRemote ? 'own' : 'auto') ? undefined : sessions,
    tools: runConfig.tools_filter?.length ? runConfig.tools_filter : undefined,
    tools_override: absentIfEmpty(runConfig.tools_override),
    tool_pinning: runConfig.tool_pinning,
    image_verification: runConfig.image_verification,
  });
}

function permissionsOf(
  profile: PermissionProfile,
  paths: (text: string) => string,
): ProjectServer['permissions'] {
  const { name: _name, ...rest } = profile;
  const builtIn = Object.entries(builtInProfiles).find(([, { name: _own, ...known }]) =>
    isDeepStrictEqual(known, rest),
  );
  if (builtIn !== undefined) return builtIn[0] as keyof typeof builtInProfiles; // a key of the constant
  return withoutAbsent({ ...rest, read: rest.read?.map(paths), write: rest.write?.map(paths) });
}

/** A path in the project is relative, and one in the home directory starts there. */
function portablePath(text: string, directory: string | undefined): string {
  const [path = '', ...rest] = text.split(':');
  if (directory !== undefined) {
    const inner = relative(directory, path);
    if (inner === '' || !inner.startsWith('..')) return [`./${inner}`.replace(/\/$/, ''), ...rest].join(':');
  }
  const home = homedir();
  return [path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path, ...rest].join(
    ':',
  );
}

/** Settings that belong to one machine, or that a file of others must not decide. */
function noteOmitted(runConfig: RunConfig, note: (text: string) => void): void {
  const {
    host,
    oidc_config,
    authz_config,
    authz_config_path,
    telemetry_config,
    audit_config,
    container_labels,
  } = runConfig;
  const {
    ignore_config,
    learning,
    isolate_network,
    local_ports,
    publish,
    allowed_origins,
    remote_auth_config,
    token_exchange_config,
    insecure_no_auth,
  } = runConfig;
  const { headers: _headers, ...auth } = remote_auth_config ?? {};
  const labels = Object.keys(container_labels ?? {}).filter(
    (key) => key !== projectLabel && key !== 'project',
  );
  const omitted = Object.entries({
    host: host !== '127.0.0.1',
    insecure_no_auth: insecure_no_auth === true,
    labels: labels.length > 0,
    oidc: Boolean(oidc_config),
    authz_config: Boolean(authz_config ?? authz_config_path),
    telemetry_config: Boolean(telemetry_config),
    audit_config: Boolean(audit_config),
    ignore_config: Boolean(ignore_config),
    token_exchange: Boolean(token_exchange_config),
    oauth_config: Object.values(auth).some((value) => value !== undefined && value !== null && value !== ''),
    learn: learning !== undefined,
    local_ports: Boolean(local_ports?.length),
    publish: Boolean(publish?.length),
    allowed_origins: Boolean(allowed_origins?.length),
    network_isolation: isolate_network === false,
  }).flatMap(([key, isSet]) => (isSet ? [key] : []));
  if (omitted.length > 0) note(`the file does not contain ${omitted.join(', ')}`);
}

function absentIfEmpty<Value extends object>(value: Value | null | undefined): Value | undefined {
  return Object.keys(value ?? {}).length === 0 ? undefined : (value ?? undefined);
}

function withoutAbsent<Value extends object>(value: Value): Value {
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined)) as Value;
}
