import { homedir } from 'node:os';
import { basename } from 'node:path';
import type { CreateWorkload } from '@toolhive/contract/workload';

/** A place in a text whose value only the user knows. */
export interface Open {
  /** The placeholder as written: `${input:token}`. */
  token: string;
  name: string;
  description: string;
  /** Whether its author says that the value is a password. Undefined if the author does not say so. */
  secret?: boolean | undefined;
  /** Whether the server can do without the value. */
  isOptional?: boolean | undefined;
}

/** A question of a document. See `questionsIn`. */
export interface Input {
  description: string;
  secret: boolean;
  default?: string | undefined;
  isOptional?: boolean | undefined;
}

/** The values that placeholders can have. */
export interface Scope {
  env: Readonly<Record<string, string | undefined>>;
  inputs: ReadonlyMap<string, Input>;
  /** The directory of the project. Undefined if it is not known. */
  directory: string | undefined;
}

/**
 * `${NAME}`, `${env:NAME}`, `${input:ID}`, `${{ secrets.NAME }}`, `{env:NAME}`, `{file:PATH}`, `{workspaceFolder}`, `os.environ/NAME`,
 * `process.env.NAME`, and the places of JetBrains, such as `$PROJECT_DIR$`.
 */
const tokens =
  /\$\{\{[^{}]{1,200}\}\}|\$\{[^{}]{1,200}\}|\{(?:env|file|input):[^{}]{1,200}\}|\{(?:workspaceFolder|workspaceFolderBasename|userHome)\}|\{\{ ?HOME ?\}\}|\bos\.environ\/[A-Za-z_]\w{0,100}(?!\S)|(?<!\S)process\.env\.[A-Za-z_]\w{0,100}!?(?!\S)|\$(?:PROJECT_DIR|ProjectFileDir|USER_HOME)\$/g;

/** Replaces the placeholders with a known value, and returns the others, which stay in the text. */
export function substitute(text: string, scope: Scope): { text: string; open: Open[] } {
  const open: Open[] = [];
  const result = text.replaceAll(tokens, (token) => {
    const found = meaningOf(token, scope);
    if (typeof found === 'string') return found;
    open.push({ token, ...found });
    return token;
  });
  return { text: result, open };
}

/** Whether a text contains a placeholder. */
export function hasPlaceholder(text: string): boolean {
  return text.search(tokens) !== -1;
}

/** The text with other words in the places of its placeholders. */
export function withoutPlaceholders(text: string, replacement: string): string {
  return text.replaceAll(tokens, replacement);
}

/** Replaces placeholders with the answers of the user, which are never read as placeholders themselves. */
export function filled(text: string, answers: ReadonlyMap<string, string>): string {
  const [first, ...others] = answers;
  if (first === undefined) return text;
  const [token, answer] = first;
  const parts = text.split(token).map((part) => filled(part, new Map(others)));
  return parts.join(answer);
}

/** The same for every text of a request that can contain a placeholder. */
export function filledRequest(request: CreateWorkload, answers: ReadonlyMap<string, string>): CreateWorkload {
  if (answers.size === 0) return request;
  const fill = (text: string): string => filled(text, answers);
  const { image, url, cmd_arguments, volumes, env_vars, headers } = request;
  return {
    ...request,
    ...(image === undefined ? {} : { image: fill(image) }),
    ...(url === undefined ? {} : { url: fill(url) }),
    ...(cmd_arguments ? { cmd_arguments: cmd_arguments.map(fill) } : {}),
    ...(volumes ? { volumes: volumes.map(fill) } : {}),
    ...(env_vars
      ? { env_vars: Object.fromEntries(Object.entries(env_vars).map(([name, value]) => [name, fill(value)])) }
      : {}),
    ...(headers
      ? {
          headers: headers.map((header) =>
            header.default === undefined ? header : { ...header, default: fill(header.default) },
          ),
        }
      : {}),
  };
}

type Meaning = string | Omit<Open, 'token'>;

function meaningOf(token: string, { env, inputs, directory }: Scope): Meaning {
  const inner = token
    .replace(/^\$?\{+\s*|^os\.environ\/|^process\.env\.|^\$/, '')
    .replace(/\s*\}+$|\$$|!$/, '');
  const [, kind, rest = ''] = /^(\w+):(?!-)(.*)$/s.exec(inner) ?? [undefined, undefined, inner];
  if (kind === 'input') return inputOf(rest, inputs.get(rest));
  if (kind === undefined || kind === 'workspaceFolder') {
    const place = placeOf(kind ?? rest, directory);
    if (place !== undefined) return place;
  }
  const isVariable = kind === undefined || kind === 'env' || kind === 'localEnv';
  const [, name = rest, preset] = /^(.*?):-(.*)$/s.exec(rest) ?? [];
  const value = isVariable ? (valueOf(env, name) ?? preset) : undefined;
  if (value !== undefined) return value;
  const question = isVariable ? inputs.get(`\${${name}}`) : undefined;
  // `${{ secrets.NAME }}` and `${user_config.name}` have a group before the name.
  return inputOf(isVariable ? name.replace(/^[\w-]+\./, '') : rest, question);
}

function valueOf(env: Scope['env'], name: string): string | undefined {
  if (name === 'HOME') return homedir();
  return Object.hasOwn(env, name) ? env[name] : undefined;
}

/** The places that editors know by name. */
function placeOf(name: string, directory: string | undefined): Meaning | undefined {
  switch (name) {
    case 'userHome':
    case 'USER_HOME':
      return homedir();
    case 'pathSeparator':
    case '/':
      return '/';
    case 'workspaceFolder':
    case 'workspaceRoot':
    case 'CLAUDE_PROJECT_DIR':
    case 'PROJECT_DIR':
    case 'ProjectFileDir':
    case 'PWD':
      return directory ?? { name, description: 'the directory of the project', secret: false };
    // A plugin's or extension's file with servers is in its directory.
    case 'CLAUDE_PLUGIN_ROOT':
    case 'CURSOR_PLUGIN_ROOT':
    case 'PLUGIN_ROOT':
    case 'extensionPath':
      return directory ?? { name, description: 'the directory of the plugin', secret: false };
    case 'workspaceFolderBasename':
      return directory === undefined
        ? { name, description: 'the name of the directory of the project', secret: false }
        : basename(directory);
    default:
      return undefined;
  }
}

function inputOf(id: string, input: Input | undefined): Meaning {
  if (input?.default !== undefined && !input.secret) return input.default;
  return {
    name: id,
    description: input?.description ?? '',
    secret: input?.secret,
    isOptional: input?.isOptional,
  };
}
