import { invalid } from '@toolhive/contract/failure';
import { defaultGroup, metaServerName } from '@toolhive/contract/names';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { metaSettings } from '@toolhive/tool-search/settings';
import { formatReference } from '@toolhive/secrets/reference';
import type { RunConfigSettings } from './draft.ts';
import { proxyModeOf, proxySettings } from './local-settings.ts';
import type { BuiltInSource } from './source.ts';

/** Settings for a process or a container, which a built-in server does not have, with the flags that set them. */
const foreign: Readonly<Record<string, string>> = {
  cmd_arguments: 'arguments after `--`',
  cmd_args: 'arguments after `--`',
  volumes: '--volume',
  network_mode: '--network',
  local_ports: '--allow-local-port',
  publish: '--publish',
  learn: '--learn',
  python_with: '--with',
  python_version: '--python',
  python_exclude_newer: '--exclude-newer',
  python_prerelease: '--prerelease',
  allow_scripts: '--allow-scripts',
  ca_certificate: '--ca-cert',
  registry_group: '--registry-group',
};

/** The settings of a built-in server: those of the proxy, and environment variables as the settings of the server. Throws `invalid`. */
export function builtInSettings(
  given: CreateWorkload | RunConfigSettings,
  { server }: BuiltInSource,
): RunConfigSettings {
  for (const [name, flag] of Object.entries(foreign)) {
    if (!isAsked((given as Record<string, unknown>)[name])) continue;
    throw invalid(`${server} runs inside the daemon, so ${flag} has no effect`, {
      hint: 'remove this option',
    });
  }
  const { env_vars, group = defaultGroup } = given;
  if (server === metaServerName)
    metaSettings(env_vars ?? {}, 'docker'); // throws for invalid values
  else if (Object.keys(env_vars ?? {}).length > 0)
    throw invalid(`${server} has no settings, so environment variables have no effect`, {
      hint: 'remove --env',
    });
  const common = {
    built_in: server,
    transport: 'stdio' as const,
    proxy_mode: proxyModeOf('stdio', given.proxy_mode),
    permission_profile: {},
    env_vars: env_vars ?? {},
    sessions: 'shared' as const,
    group,
  };
  if ('built_in' in given) return { ...given, ...common };
  const request = given as CreateWorkload;
  return { ...common, secrets: (request.secrets ?? []).map(formatReference), ...proxySettings(request) };
}

function isAsked(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}
