import { code, table, textOf } from './markdown.ts';

interface EnvironmentVariable {
  name: string;
  /** The process that reads the variable. */
  reader: 'daemon' | 'thv';
  meaning: string;
  default: string;
}

/** Every environment variable that ToolHive defines. A test compares the names with the source code. */
export const environmentVariables: readonly EnvironmentVariable[] = [
  {
    name: 'TOOLHIVE_RUNTIME',
    reader: 'daemon',
    meaning: 'The runtime for new workloads: `docker` (the container engine) or `process` (the sandbox).',
    default: 'the first available runtime',
  },
  {
    name: 'TOOLHIVE_DOCKER_SOCKET',
    reader: 'daemon',
    meaning: 'The path of the Docker socket.',
    default: 'the socket in `DOCKER_HOST` or of the Docker context, or the usual locations',
  },
  {
    name: 'TOOLHIVE_PODMAN_SOCKET',
    reader: 'daemon',
    meaning: 'The path of the Podman socket.',
    default: 'the socket in `CONTAINER_HOST`, or the usual locations',
  },
  {
    name: 'TOOLHIVE_COLIMA_SOCKET',
    reader: 'daemon',
    meaning: 'The path of the Colima socket.',
    default: 'the usual locations',
  },
  {
    name: 'TOOLHIVE_IDLE_TIMEOUT',
    reader: 'daemon',
    meaning:
      'The time after which an unused background daemon ends, for example `1h`. `0` turns the timeout off.',
    default: '`15m`',
  },
  {
    name: 'TOOLHIVE_UI_PORT',
    reader: 'daemon',
    meaning: 'The port of the web UI in a background daemon. `0` chooses a free port.',
    default: '`8080`, or a free port if 8080 is in use',
  },
  {
    name: 'TOOLHIVE_UI',
    reader: 'daemon',
    meaning: 'A directory with the files of the web UI.',
    default: 'the included files',
  },
  {
    name: 'TOOLHIVE_SITE',
    reader: 'daemon',
    meaning: 'A directory with a documentation site that the API server serves at `/`.',
    default: 'none',
  },
  {
    name: 'TOOLHIVE_CLIENT_DOCUMENT',
    reader: 'daemon',
    meaning:
      'The URL of a client ID metadata document, which is the OAuth client ID for remote servers that support this method.',
    default: 'none',
  },
  {
    name: 'TOOLHIVE_SECRETS_PROVIDER',
    reader: 'daemon',
    meaning:
      'The secrets provider, instead of the stored setting: `encrypted`, `1password`, `environment`, or `none`.',
    default: 'the stored setting',
  },
  {
    name: 'TOOLHIVE_SECRETS_PASSWORD',
    reader: 'daemon',
    meaning: 'The password of the encrypted secrets.',
    default: 'none',
  },
  {
    name: 'TOOLHIVE_SECRETS_PASSWORD_FILE',
    reader: 'daemon',
    meaning: 'A file with the password of the encrypted secrets.',
    default: 'none',
  },
  {
    name: 'TOOLHIVE_SECRET_NAME',
    reader: 'daemon',
    meaning: 'The value of the secret `NAME`. Replace `NAME` with the name of the secret.',
    default: 'none',
  },
  {
    name: 'TOOLHIVE_DISABLE_ENV_FALLBACK',
    reader: 'daemon',
    meaning:
      'Do not look for secrets in the environment if the secrets provider does not have them. The value is `true`.',
    default: 'not set',
  },
  {
    name: 'TOOLHIVE_API_TOKEN',
    reader: 'thv',
    meaning:
      'The token that `thv serve` and `thv mcp serve` require from callers, instead of `--token-file`.',
    default: 'none',
  },
  {
    name: 'TOOLHIVE_OIDC_CLIENT_SECRET',
    reader: 'thv',
    meaning: 'The client secret for token introspection, instead of `--oidc-client-secret`.',
    default: 'none',
  },
  {
    name: 'TOOLHIVE_REMOTE_OAUTH_CLIENT_SECRET',
    reader: 'thv',
    meaning: 'The OAuth client secret for `thv proxy`, instead of `--remote-auth-client-secret`.',
    default: 'none',
  },
];

/** Returns the table of all environment variables, to be included in a page. */
export function environmentReference(): string {
  const rows = environmentVariables.map(({ name, reader, meaning, default: usual }) => [
    code(name),
    reader === 'daemon' ? 'Daemon' : code('thv'),
    textOf(meaning),
    textOf(usual.charAt(0).toUpperCase() + usual.slice(1)),
  ]);
  return `${table('Environment variables', ['Variable', 'Read by', 'Meaning', 'Default'], rows)}\n`;
}
