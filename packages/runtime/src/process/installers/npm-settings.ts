import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse } from 'ini';
import { originsIn } from './registries.ts';
import { readIfThere } from '../../read-if-there.ts';

/** The npm settings in the sandbox: registry URLs, credentials, and the accepted releases. */
export interface NpmSettings {
  /** The contents of `.npmrc`. */
  npmrc: string;
  /** The configured registries as `HOST:PORT`. */
  registries: Set<string>;
  /** The certificate authorities that the settings name, as PEM. */
  certificates: string;
  /** The URL of the registry of a package, without credentials. */
  registryOf: (name: string) => string;
}

/** Settings that a user may have made for all installations. Others, such as programs to run, are not for a sandbox. */
const settings =
  /^(?:registry|@[^:]+:registry|replace-registry-host|ca|strict-ssl|before|min-release-age|min-release-age-exclude|engine-strict|legacy-peer-deps|prefer-offline|offline|maxsockets|fetch-retries|fetch-retry-factor|fetch-retry-mintimeout|fetch-retry-maxtimeout|fetch-timeout)(?:\[\])?$/;
const credential = /^\/\/([^/:]+(?::\d+)?)(\/.*)?:(?:_authToken|_auth|username|_password|email)$/;

const DEFAULT_REGISTRY = 'https://registry.npmjs.org/';

/** Reads the settings of the user and the system, in the order in which npm prefers them. */
export async function readNpmSettings(env: NodeJS.ProcessEnv, npmRoot: string): Promise<NpmSettings> {
  const home = env['HOME'] ?? homedir();
  const userFile = env['npm_config_userconfig'] ?? env['NPM_CONFIG_USERCONFIG'] ?? join(home, '.npmrc');
  const globalFile =
    env['npm_config_globalconfig'] ??
    env['NPM_CONFIG_GLOBALCONFIG'] ??
    join(dirname(dirname(dirname(npmRoot))), 'etc', 'npmrc');
  const files = await Promise.all([globalFile, userFile].map(readIfThere));
  const all = new Map([...files.flatMap((text) => entriesOf(text, env)), ...entriesOfEnvironment(env)]);
  const isRegistry = (name: string) => name === 'registry' || name.endsWith(':registry');
  const named = [...all].filter(([name]) => isRegistry(name)).map(([, value]) => value);
  const registries = originsIn([DEFAULT_REGISTRY, ...named]);
  const hosts = new Set([...registries].flatMap((origin) => [origin, origin.replace(/:\d+$/, '')]));
  const kept = [...all].filter(
    ([name]) => settings.test(name) || hosts.has(credential.exec(name)?.[1] ?? ''),
  );
  const npmrc = kept.map(([name, value]) => `${name}=${JSON.stringify(value)}\n`).join('');
  const registryOf = (name: string): string => {
    const scope = /^(@[^/]+)\//.exec(name)?.[1];
    return withoutCredentials(all.get(`${scope}:registry`) ?? all.get('registry') ?? DEFAULT_REGISTRY);
  };
  return { npmrc, registries, certificates: await readIfThere(all.get('cafile') ?? ''), registryOf };
}

function withoutCredentials(text: string): string {
  const url = URL.parse(text);
  if (url === null) return '';
  url.username = '';
  url.password = '';
  return url.href;
}

function entriesOf(text: string, env: NodeJS.ProcessEnv): [string, string][] {
  return Object.entries(parse(text)).flatMap(([name, value]) =>
    typeof value === 'object' ? [] : [[name, expand(String(value), env)]],
  );
}

/** `npm_config_fetch_retries` means `fetch-retries`. Registry names keep their spelling. */
function entriesOfEnvironment(env: NodeJS.ProcessEnv): [string, string][] {
  return Object.entries(env).flatMap(([variable, value]) => {
    const name = /^npm_config_(.+)$/i.exec(variable)?.[1];
    if (name === undefined || value === undefined) return [];
    return [[/^(?:\/\/|@)/.test(name) ? name : name.toLowerCase().replaceAll('_', '-'), value]];
  });
}

/** `${NAME}` and `${NAME?}` in a value refer to an environment variable. */
function expand(value: string, env: NodeJS.ProcessEnv): string {
  return value.replace(/\$\{([^}?]+)(\?)?\}/g, (whole, name: string, optional) => {
    return env[name] ?? (optional === undefined ? whole : '');
  });
}
