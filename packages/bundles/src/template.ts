import { invalid, unsupported } from '@toolhive/contract/failure';
import type { Manifest, ServerType } from './manifest.ts';

/** How a bundle's server starts. `args` and `env` contain the variables of the format. */
export interface ServerTemplate {
  /** `file` is a program of the bundle, the others are those of ToolHive. */
  runner: 'node' | 'python' | 'uv' | 'file';
  /** The path of the program in the bundle. Only for `file`. */
  file?: string;
  args: string[];
  env: Record<string, string>;
  /** The values of `user_config` unless the user gives others. Never paths of the machine. */
  defaults: Record<string, string | string[]>;
}

/** Which programs each server type may start besides files in the bundle. */
const runners: Record<ServerType, Partial<Record<string, ServerTemplate['runner']>>> = {
  node: { node: 'node' },
  python: { python: 'python', uv: 'uv' },
  uv: { uv: 'uv', python: 'python' },
  binary: {},
};

/** The server of a manifest on this platform. Throws `unsupported` if it cannot run here. */
export function serverOf(manifest: Manifest, platform: string): ServerTemplate {
  const { name, server, compatibility } = manifest;
  const { platforms } = compatibility;
  if (platforms !== undefined && platforms.length > 0 && !platforms.includes(platform)) {
    throw unsupported(`the bundle ${name} is for ${platforms.join(', ')}, and this is ${platform}`, {
      hint: `ask its author for a bundle for ${platform}`,
    });
  }
  const config = configOf(manifest, platform);
  const { command, args, env } = config;
  for (const text of [command, ...args, ...Object.values(env)]) requireKnownVariables(manifest, text);
  const wrong = Object.keys(env).find((key) => !/^[A-Za-z_]\w*$/.test(key));
  if (wrong !== undefined)
    throw invalid(`the bundle ${name} sets the variable ${JSON.stringify(wrong)}, which no program can read`);
  return { ...programOf(manifest, command), args, env, defaults: defaultsOf(manifest) };

  function programOf({ server: { type } }: Manifest, text: string): Pick<ServerTemplate, 'runner' | 'file'> {
    const inner = innerFile(text);
    const word = text.replace(/\.exe$/i, '').replace(/^python3(?:\.\d+)?$|^py$/, 'python');
    const runner = Object.hasOwn(runners[type], word) ? runners[type][word] : undefined;
    if (runner !== undefined) return { runner };
    if (inner !== undefined && (inner !== text || type === 'binary')) return { runner: 'file', file: inner };
    throw unsupported(
      `the bundle ${name} starts ${JSON.stringify(text)}, which a ${server.type} bundle cannot`,
      {
        hint: hintFor(config, Object.keys(runners[type]), manifest),
      },
    );
  }
}

function defaultsOf({ user_config: fields }: Manifest): ServerTemplate['defaults'] {
  const entries = Object.entries(fields).flatMap(([key, { type, default: preset, multiple }]) => {
    if (preset === undefined || preset === '' || type === 'directory' || type === 'file') return [];
    const words = Array.isArray(preset) ? preset : [String(preset)];
    return [[key, multiple ? words : (words[0] ?? '')] as const];
  });
  return Object.fromEntries(entries);
}

function configOf(
  { server }: Manifest,
  platform: string,
): Pick<ServerTemplate, 'args' | 'env'> & { command: string } {
  const { mcp_config: config, type, entry_point: entry } = server;
  if (config === undefined) return byEntryPoint[type](entry);
  const { platform_overrides: overrides } = config;
  const own = Object.hasOwn(overrides, platform) ? overrides[platform] : undefined;
  // An override replaces a whole member, as in the official implementation.
  const env = Object.entries(own?.env ?? config.env ?? {});
  return {
    command: withSlashes(own?.command ?? config.command, platform),
    args: (own?.args ?? config.args ?? []).map((arg) => withSlashes(arg, platform)),
    env: Object.fromEntries(env.map(([name, text]) => [name, withSlashes(text, platform)])),
  };
}

/** A path in the bundle, which an author on Windows writes with backslashes. */
function withSlashes(text: string, platform: string): string {
  return platform !== 'win32' && text.startsWith('${__dirname}\\') ? text.replaceAll('\\', '/') : text;
}

/** What starts a server whose manifest has no command. */
const byEntryPoint: Record<
  ServerType,
  (entry: string) => Pick<ServerTemplate, 'args' | 'env'> & { command: string }
> = {
  node: (entry) => ({ command: 'node', args: [`\${__dirname}/${entry}`], env: {} }),
  python: (entry) => ({ command: 'python', args: [`\${__dirname}/${entry}`], env: {} }),
  uv: (entry) => ({ command: 'uv', args: ['run', `\${__dirname}/${entry}`], env: {} }),
  binary: (entry) => ({ command: `\${__dirname}/${entry}`, args: [], env: {} }),
};

/** The path of a file in the bundle that a text names. Undefined for anything else. */
export function innerFile(text: string): string | undefined {
  const path = text
    .replace(/^\$\{__dirname\}(?:\/|\$\{\/\}|\$\{pathSeparator\})+/, '')
    .replace(/^(?:\.\/+)+/, '');
  const parts = path.split(/\/+|\$\{\/\}|\$\{pathSeparator\}/);
  const isPlain =
    !/[\p{Cc}\\$]/u.test(parts.join('/')) &&
    parts.every((part) => part !== '' && part !== '..' && part !== '.');
  return isPlain && !path.startsWith('/') ? parts.join('/') : undefined;
}

/** The programs that download a server and start it, and that `thv run` understands. */
const downloaders = /^(npx|uvx|bunx|pipx|docker|podman)(?:\.cmd|\.exe)?$/;

function hintFor(
  { command, args, env }: ReturnType<typeof configOf>,
  allowed: readonly string[],
  manifest: Manifest,
): string {
  const [, program] = downloaders.exec(command) ?? [];
  const words = args.map(withNames);
  const variables = Object.entries(env).map(([name, text]) =>
    isSensitive(text, manifest)
      ? `--secret ${withNames(text)},target=${name}`
      : `--env ${quoted(`${name}=${withNames(text)}`)}`,
  );
  const isPlain = [...words, ...Object.values(env).map(withNames)].every((word) =>
    /^[\w@./:~^=+,<>[\]*#-]+$/.test(word),
  );
  if (program === undefined || !isPlain || words.length === 0 || asksForAccess(program, words))
    return `it can start ${[...allowed, 'a file in the bundle'].join(' or ')}`;
  const shown = words.map(quoted);
  const source = sourceIn(program, shown) ?? [program, ...shown];
  return `the bundle only downloads its server, so run that instead: ${['thv run', ...variables, ...source].join(' ')}`;
}

/** A word without a single quote, as a shell takes it. */
const quoted = (word: string): string => (/[<>[\]*~^#]/.test(word) ? `'${word}'` : word);

/** Whether a text is replaced by the value of a sensitive field, whose value belongs into a secret and not into a command line. */
function isSensitive(text: string, { user_config: fields }: Manifest): boolean {
  const [, key] = variableOnly.exec(text) ?? [];
  return key !== undefined && Object.hasOwn(fields, key) && fields[key]?.sensitive === true;
}

/** Whether a container gets more than its image and its variables. No hint may suggest access that a bundle asks for. */
function asksForAccess(program: string, [verb, ...words]: readonly string[]): boolean {
  if (program !== 'docker' && program !== 'podman') return false;
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (!word.startsWith('-')) return verb !== 'run'; // the image, and behind it the words of the server
    if (word === '-e' || word === '--env') at += 1;
    else if (!/^(?:-i|-t|-it|-ti|--interactive|--tty|--rm|--init|--env=.+|-e.+)$/.test(word)) return true;
  }
  return true; // it names no image
}

/** The package of `npx` or `uvx` as `thv run` names it, unless other flags say more about it. */
function sourceIn(program: string, words: readonly string[]): string[] | undefined {
  const at = words.findIndex((word) => word !== '-y' && word !== '--yes');
  const name = words[at];
  if ((program !== 'npx' && program !== 'uvx') || name === undefined || /^[-']/.test(name)) return undefined;
  const rest = words.slice(at + 1);
  return [`${program}://${name}`, ...(rest.length === 0 ? [] : ['--', ...rest])];
}

/** A text with the names of the fields in the places of their values, for the user to replace. */
const withNames = (text: string): string =>
  text.replaceAll(/\$\{user_config\.([\w-]+)\}/g, (_all, key: string) => key.toUpperCase());

const variable = /\$\{([^}]*)\}/g;
const ownConfig = 'user_config.';

/** The variables that ToolHive sets, and the folders of the server's home directory that they mean. */
const folders: Record<string, string> = {
  HOME: '',
  DESKTOP: '/Desktop',
  DOCUMENTS: '/Documents',
  DOWNLOADS: '/Downloads',
};

function requireKnownVariables({ name, user_config: fields }: Manifest, text: string): void {
  for (const [whole, key = ''] of text.matchAll(variable)) {
    if (key === '__dirname' || key === '/' || key === 'pathSeparator' || Object.hasOwn(folders, key))
      continue;
    if (key.startsWith(ownConfig) && Object.hasOwn(fields, key.slice(ownConfig.length))) continue;
    throw unsupported(`the bundle ${name} uses the unknown variable ${JSON.stringify(whole.slice(0, 100))}`, {
      hint: `the format has \${__dirname}, \${HOME}, \${DESKTOP}, \${DOCUMENTS}, \${DOWNLOADS}, \${pathSeparator}, and \${user_config.KEY} for each key of user_config`,
    });
  }
}

/** The values of `user_config`. A list is for a field with several values, and an empty one for a field without any. */
export type ConfigValues = Readonly<Record<string, string | readonly string[]>>;

interface Surroundings {
  /** The folder of the bundle, as the server sees it. */
  directory: string;
  /** The home directory of the server. */
  home: string;
  config: ConfigValues;
}

/**
 * Fills in the variables. A value of the user is never read as a template. An argument or environment variable whose
 * value is missing is left out, together with the option before the argument.
 */
export function filled(
  { args, env, defaults }: Pick<ServerTemplate, 'args' | 'env' | 'defaults'>,
  { config, ...places }: Surroundings,
): { args: string[]; env: Record<string, string> } {
  const presets = Object.entries(defaults).map(([key, preset]) => [
    key,
    typeof preset === 'string' ? inPlaces(preset, places) : preset.map((word) => inPlaces(word, places)),
  ]);
  const surroundings = { ...places, config: { ...(Object.fromEntries(presets) as ConfigValues), ...config } };
  const words: string[] = [];
  for (const arg of args) {
    const values = wordsFor(arg, surroundings);
    if (values.length === 0 && isOption(words.at(-1)) && variableOnly.test(arg)) words.pop();
    words.push(...values);
  }
  const variables = Object.entries(env).flatMap(([name, text]) =>
    isOpen(text, surroundings.config) ? [] : [[name, replaced(text, surroundings)]],
  );
  return { args: words, env: Object.fromEntries(variables) as Record<string, string> };
}

const variableOnly = /^\$\{user_config\.([^}]*)\}$/;

const isOption = (word: string | undefined): boolean =>
  word !== undefined && /^--?[A-Za-z][\w-]*$/.test(word);

function wordsFor(arg: string, surroundings: Surroundings): string[] {
  const { config } = surroundings;
  if (isOpen(arg, config)) return [];
  const [, key] = variableOnly.exec(arg) ?? [];
  const value = key === undefined ? undefined : config[key];
  return value !== undefined && typeof value !== 'string' ? [...value] : [replaced(arg, surroundings)];
}

const isOpen = (text: string, config: ConfigValues): boolean =>
  [...text.matchAll(variable)].some(([, key = '']) => {
    const own = key.slice(ownConfig.length);
    return key.startsWith(ownConfig) && (!Object.hasOwn(config, own) || config[own]?.length === 0);
  });

function replaced(text: string, { config, ...places }: Surroundings): string {
  return text.replace(variable, (whole, key: string) => {
    if (!key.startsWith(ownConfig)) return inPlaces(whole, places);
    const value = config[key.slice(ownConfig.length)];
    return value === undefined ? whole : typeof value === 'string' ? value : value.join(',');
  });
}

/** A text with the variables that are not values of the user. */
function inPlaces(text: string, { directory, home }: Pick<Surroundings, 'directory' | 'home'>): string {
  return text.replace(variable, (whole, key: string) => {
    if (key === '__dirname') return directory;
    if (key === '/' || key === 'pathSeparator') return '/';
    return Object.hasOwn(folders, key) ? `${home}${folders[key]}` : whole;
  });
}

/** A default path with the user's own folders, as a proposal to the user. */
export const proposedPath = (text: string, home: string): string => inPlaces(text, { directory: '', home });
