import { invalid } from '@toolhive/contract/failure';
import { defaultGroup } from '@toolhive/contract/names';
import { readResource, resourceNames, resourceRules } from '@toolhive/contract/resources';
import type { RunConfig } from '@toolhive/contract/run-config';
import { sessionSettings } from '@toolhive/contract/run-config';
import { ProxyMode } from '@toolhive/contract/workload';
import type { CreateWorkload, Sessions } from '@toolhive/contract/workload';
import { formatSource } from '@toolhive/runtime/source';
import type { Resolved } from '@toolhive/registry/registry';
import { formatReference } from '@toolhive/secrets/reference';
import type { RequestSettings, RunConfigSettings } from './draft.ts';
import { bundleConfig } from './bundle.ts';
import type { LocalSource } from './source.ts';
import { entryPermissions } from '@toolhive/registry/entry-permissions';

/** The port for an HTTP server if neither the request nor the registry names one. */
const defaultTargetPort = 8080;

/** The settings of a local server: those of the request, and for the rest those of the registry entry. Throws `invalid`. */
export function localSettings(
  { request, defaultProfile }: RequestSettings,
  { resolved, bundle }: Pick<LocalSource, 'resolved' | 'bundle'>,
): RunConfigSettings {
  const { entry } = resolved;
  const config = bundleConfig(request, bundle);
  const transport = transportOf(request.transport || (entry?.transport ?? 'stdio'));
  requireTools(request, entry);
  requireVolume(request, resolved);
  return {
    image: formatSource(resolved.source),
    cmd_args: [...resolved.sourceArgs, ...(entry?.args ?? []), ...(request.cmd_arguments ?? [])],
    transport,
    proxy_mode: proxyModeOf(transport, request.proxy_mode),
    ...(transport === 'stdio'
      ? {}
      : { target_port: request.target_port || (entry?.target_port ?? defaultTargetPort) }),
    permission_profile: profileOf(request, entry, defaultProfile),
    ...(request.local_ports?.length ? { local_ports: [...new Set(request.local_ports)] } : {}),
    ...(request.publish?.length ? { publish: [...new Set(request.publish)] } : {}),
    ...(request.network_isolation === undefined ? {} : { isolate_network: request.network_isolation }),
    env_vars: environmentOf(request, entry),
    secrets: (request.secrets ?? []).map(formatReference),
    ...(Object.keys(config.values).length === 0 ? {} : { user_config: config.values }),
    volumes: withConfigVolumes(request.volumes ?? [], config.volumes),
    ...(request.python_with?.length ? { python_with: request.python_with } : {}),
    ...(request.python_version ? { python_version: request.python_version } : {}),
    ...(request.python_exclude_newer ? { python_exclude_newer: request.python_exclude_newer } : {}),
    ...(request.python_prerelease === undefined ? {} : { python_prerelease: request.python_prerelease }),
    ...scriptsOf(request, resolved),
    ...(request.image_verification === undefined ? {} : { image_verification: request.image_verification }),
    ...(request.ephemeral === true ? { ephemeral: true } : {}),
    ...resourceSettings(request),
    ...sessionSettings(chosenSessions(request, entry?.sessions)),
    ...proxySettings(request),
    ...(request.ignore_config ? { ignore_config: request.ignore_config } : {}),
    ...(request.k8s_pod_template_patch ? { k8s_pod_template_patch: request.k8s_pod_template_patch } : {}),
    group: request.group ?? defaultGroup,
  };
}

/** A registry entry is more certain than an observation, and only one process can have a published port. */
function chosenSessions(
  { sessions: asked = 'auto', publish }: CreateWorkload,
  known: Sessions = 'auto',
): Sessions {
  if (asked !== 'auto') return asked;
  return publish?.length ? 'shared' : known;
}

/** A description that a client sends back contains the volumes already, perhaps read-only. */
function withConfigVolumes(asked: readonly string[], volumes: readonly string[]): string[] {
  const pathsOf = (volume: string): string => volume.replace(/:r[ow]$/, '');
  const known = new Set(asked.map(pathsOf));
  return [...asked, ...volumes.filter((volume) => !known.has(pathsOf(volume)))];
}

/** The proxy settings, which are the same for local and remote servers. */
export function proxySettings({
  tools,
  tools_override,
  labels,
  audit_config,
  telemetry_config,
  insecure_no_auth,
  tool_pinning,
  allowed_origins,
}: CreateWorkload): Partial<RunConfig> {
  return {
    ...(allowed_origins?.length ? { allowed_origins: [...new Set(allowed_origins)] } : {}),
    ...(tools?.length ? { tools_filter: tools } : {}),
    ...(isEmpty(tools_override) ? {} : { tools_override }),
    ...(isEmpty(labels) ? {} : { container_labels: labels }),
    ...(audit_config ? { audit_config } : {}),
    ...(telemetry_config ? { telemetry_config } : {}),
    ...(insecure_no_auth === true ? { insecure_no_auth } : {}),
    ...(tool_pinning === undefined ? {} : { tool_pinning }),
  };
}

/** The limits that differ from the defaults. A registry entry cannot set limits, because anyone can publish one. */
function resourceSettings({ resources }: CreateWorkload): Partial<RunConfig> {
  const asked = Object.fromEntries(
    resourceNames.flatMap((name) => {
      const value = resources?.[name];
      const isAsked = value !== undefined && readResource(name, value) !== resourceRules[name].default;
      return isAsked ? [[name, value]] : [];
    }),
  );
  return isEmpty(asked) ? {} : { resources: asked };
}

/** The npm packages whose install scripts run: those of the request, or else those of the registry entry. */
function scriptsOf(
  { allow_scripts: asked }: CreateWorkload,
  { source, entry }: Resolved,
): Partial<RunConfig> {
  const isNpm = source.kind === 'package' && source.scheme === 'npx';
  const allowed = asked?.length ? asked : isNpm ? entry?.package?.allow_scripts : undefined;
  return allowed?.length ? { allow_scripts: allowed } : {};
}

function isEmpty(map: object | null | undefined): boolean {
  return Object.keys(map ?? {}).length === 0;
}

function profileOf(
  { permission_profile: asked, network_mode: mode }: CreateWorkload,
  entry: Resolved['entry'],
  defaultProfile: RequestSettings['defaultProfile'],
) {
  const profile = asked ?? (entry && entryPermissions(entry)) ?? defaultProfile();
  return mode ? { ...profile, network: { ...profile.network, mode } } : profile;
}

/** Throws if a registry entry's arguments name a directory without a mount. */
function requireVolume(request: CreateWorkload, { entry, sourceArgs }: Resolved): void {
  if (entry === undefined) return;
  const directory = [...sourceArgs, ...(entry.args ?? [])].find((argument) => /^\/[\w./-]+$/.test(argument));
  const { read = [], write = [] } = request.permission_profile ?? {};
  if (directory === undefined || [...(request.volumes ?? []), ...(read ?? []), ...(write ?? [])].length > 0)
    return;
  throw invalid(`${entry.name} needs a directory`, {
    hint: `mount one with --volume DIR:${directory}, or with :ro at the end if the server must not change it`,
  });
}

/**
 * Throws for a rule about a tool that the registry does not list for the server, because the rule would have no
 * effect.
 */
function requireTools({ tools, tools_override: overrides }: CreateWorkload, entry: Resolved['entry']): void {
  const known = entry?.tools ?? [];
  if (known.length === 0) return;
  const shown = Object.values(overrides ?? {}).flatMap(({ name }) => name ?? []);
  const unknown = [
    ...Object.keys(overrides ?? {}).filter((name) => !known.includes(name)),
    ...(tools ?? []).filter((name) => !known.includes(name) && !shown.includes(name)),
  ];
  if (unknown.length === 0) return;
  throw invalid(`${entry?.name} has no tool ${unknown.join(', ')}`, {
    hint: `the available tools are ${known.join(', ')}`,
  });
}

function transportOf(transport: string): 'stdio' | 'sse' | 'streamable-http' {
  const lower = transport === transport.toUpperCase() ? transport.toLowerCase() : transport;
  if (lower === 'stdio' || lower === 'sse' || lower === 'streamable-http') return lower;
  throw invalid(`${JSON.stringify(transport)} is not a transport`, {
    hint: 'use stdio, sse or streamable-http',
  });
}

/** Every proxy serves both endpoints. All clients support streamable HTTP, so the URL names that one by default. */
export function proxyModeOf(transport: string | undefined, mode: string | undefined): ProxyMode {
  if (transport === 'streamable-http' || mode === undefined || mode === '') return 'streamable-http';
  const parsed = ProxyMode.safeParse(mode);
  if (!parsed.success)
    throw invalid(`${JSON.stringify(mode)} is not a proxy mode`, { hint: 'use sse or streamable-http' });
  return parsed.data;
}

function environmentOf(request: CreateWorkload, entry: Resolved['entry']): Record<string, string> {
  const given = request.env_vars ?? {};
  const secret = new Set(request.secrets?.map(({ target }) => target));
  const variables = entry?.env_vars ?? [];
  const missing = variables.filter(
    ({ name, required, default: value }) =>
      required && value === undefined && !given[name] && !secret.has(name),
  );
  if (missing.length > 0) {
    throw invalid(`${entry?.name} needs ${missing.map(({ name }) => name).join(', ')}`, {
      hint: missing.map(({ name, description }) => `${name}: ${description}`).join(' '),
    });
  }
  const defaults = variables.flatMap(({ name, default: value }) =>
    value === undefined || secret.has(name) ? [] : [[name, value]],
  );
  return { ...Object.fromEntries(defaults), ...given };
}
