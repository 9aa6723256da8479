import type { CreateWorkload } from '@toolhive/contract/workload';

/** The `thv run` command line of a request, for a shell. */
export function commandText(request: CreateWorkload): string {
  const { name, group, image, url, transport, proxy_port, target_port, network_mode, oauth_config } = request;
  const flags: [flag: string, value: string | number | undefined][] = [
    ['--name', name],
    ['--group', group],
    ['--transport', transport],
    ['--proxy-port', proxy_port],
    ['--target-port', target_port],
    ['--network', network_mode],
    ...(request.publish ?? []).map((port) => flag('--publish', port)),
    ...Object.entries(request.labels ?? {}).map(([key, value]) => flag('--label', `${key}=${value}`)),
    ...Object.entries(request.env_vars ?? {}).map(([key, value]) => flag('--env', `${key}=${value}`)),
    ...(request.secrets ?? []).map((secret) => flag('--secret', `${secret.name},target=${secret.target}`)),
    ...(request.volumes ?? []).map((volume) => flag('--volume', volume)),
    ...(request.python_with ?? []).map((requirement) => flag('--with', requirement)),
    ['--python', request.python_version],
    ['--exclude-newer', request.python_exclude_newer],
    ['--prerelease', request.python_prerelease],
    ...(request.tools ?? []).map((tool) => flag('--tools', tool)),
    ...(request.headers ?? []).flatMap(({ name, secret, default: value = '' }) => {
      const [, stored] = (secret && /^([^,]+),target=/.exec(value)) || [];
      if (stored !== undefined) return [flag('--remote-forward-headers-secret', `${name}=${stored}`)];
      return secret || value === '' ? [] : [flag('--remote-forward-headers', `${name}=${value}`)];
    }),
    ['--remote-auth-client-id', oauth_config?.client_id],
    ['--remote-auth-authorize-url', oauth_config?.authorize_url],
    ['--remote-auth-token-url', oauth_config?.token_url],
    ...(oauth_config?.scopes ?? []).map((scope) => flag('--remote-auth-scopes', scope)),
    ['--remote-auth-callback-port', oauth_config?.callback_port],
    ['--remote-auth-resource', oauth_config?.resource],
  ];
  const args = request.cmd_arguments ?? [];
  return [
    'thv',
    'run',
    ...flags.flatMap(([word, value]) => (value === undefined ? [] : [word, quoted(String(value))])),
    quoted(url ?? image ?? ''),
    ...(args.length === 0 ? [] : ['--', ...args.map(quoted)]),
  ].join(' ');
}

function flag(name: string, value: string): [string, string] {
  return [name, value];
}

/** Quotes a word for a POSIX shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
