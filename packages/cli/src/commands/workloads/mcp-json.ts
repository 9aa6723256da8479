import { unsupported } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';

/** How an MCP client starts or reaches a server without ToolHive. */
interface McpJson {
  value: { mcpServers: Record<string, object> };
  /** What a client does not do for the server. */
  notes: string[];
}

/** Describes the server of a run config as MCP clients do. Secrets become variables that the client puts in. */
export function asMcpJson(runConfig: RunConfig): McpJson {
  const { name, remote_url: url, secrets, permission_profile: profile, volumes } = runConfig;
  if (runConfig.image?.startsWith('mcpb://') === true) {
    throw unsupported(`${name} runs a bundle, which mcpServers JSON cannot describe`, {
      hint: 'use --format mcpb, or thv list --format mcpservers for the URL of the workload',
    });
  }
  const isRemote = url !== undefined && url !== '';
  const lost = [
    ...(isRemote ? [] : ['the isolation']),
    ...(isRemote || profile === undefined ? [] : ['the permission profile']),
    ...((volumes ?? []).length > 0 && !isImage(runConfig) ? ['the mounts'] : []),
    ...((runConfig.tools_filter ?? []).length > 0 ? ['the tool filter'] : []),
  ];
  return {
    value: { mcpServers: { [name]: isRemote ? reached(runConfig, url) : started(runConfig) } },
    notes: [
      ...(lost.length === 0
        ? []
        : [
            `a client that starts the server itself does not apply ${lost.join(', ')}. Only thv import does, with its defaults. To see the workload's URL, run thv list --format mcpservers`,
          ]),
      ...((secrets ?? []).length > 0
        ? ['the file refers to secrets as ${NAME}: set these environment variables for the client']
        : []),
    ],
  };
}

function isImage({ image = '' }: RunConfig): boolean {
  return !image.includes('://');
}

function reached({ transport, remote_auth_config: auth }: RunConfig, url: string): object {
  const headers = (auth?.headers ?? []).map(({ name, secret, default: value = '' }) => [
    name,
    secret ? placeholder(name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')) : value,
  ]);
  if (auth?.bearer_token) headers.push(['Authorization', `Bearer ${placeholder('TOKEN')}`]);
  return {
    type: transport === 'sse' ? 'sse' : 'http',
    url,
    ...(headers.length > 0 ? { headers: Object.fromEntries(headers) as object } : {}),
  };
}

function started(runConfig: RunConfig): object {
  const { image = '', cmd_args: args, env_vars: variables, secrets, volumes } = runConfig;
  const targets = (secrets ?? []).flatMap((reference) => /,target=(.+)$/.exec(reference)?.[1] ?? []);
  const env = { ...variables, ...Object.fromEntries(targets.map((target) => [target, placeholder(target)])) };
  const [, scheme, name = ''] = /^(npx|uvx|go):\/\/(.*)$/s.exec(image) ?? [];
  const words = {
    npx: ['npx', '-y', name],
    uvx: ['uvx', name],
    go: ['go', 'run', name],
    image: [
      'docker',
      'run',
      '-i',
      '--rm',
      ...Object.keys(env).flatMap((variable) => ['-e', variable]),
      ...(volumes ?? []).flatMap((volume) => ['-v', volume]),
      image,
    ],
  };
  const [command, ...before] = words[(scheme ?? 'image') as keyof typeof words]; // the pattern has no other schemes
  return {
    command,
    args: [...before, ...(args ?? [])],
    ...(Object.keys(env).length > 0 ? { env } : {}),
  };
}

function placeholder(variable: string): string {
  return `\${${variable}}`;
}
