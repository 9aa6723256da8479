import { invalid } from '@toolhive/contract/failure';
import type { CreateWorkload } from '@toolhive/contract/workload';
import type { Found } from './client-document.ts';
import { isContainerProgram } from './docker-run.ts';
import type { Pasted } from './pasted.ts';
import { wordsIn } from './words.ts';

/** What a command such as `claude mcp add` adds: a remote server, or a command line. */
export type Added = { name: string; env: Record<string, string> } & (
  { remote: Pasted } | { words: readonly string[] }
);

const list = (text: string): string[] => text.trim().split(/\s+/);

/** The commands that add a server to a client. */
export const addingPrograms: readonly string[] = list(
  `claude codex gemini goose qwen copilot amp droid kimi q kiro-cli auggie opencode openclaw hermes vibe iflow cursor-agent`,
);

const transports = ['-t', '--transport', '--type'];
const variables = ['-e', '--env'];
const headers = ['-H', '--header', '--headers'];
const scopes = ['-s', '--scope'];
const withValue = [
  ...transports,
  ...variables,
  ...headers,
  ...scopes,
  // The others say how the client calls the server, which stays the client's business.
  ...list(`--url --name --command --args --bearer-token-env-var --client-id --callback-port --timeout --description
    --include-tools --exclude-tools --tools --agent --startup-timeout --tool-timeout`),
];
const switches = list('--trust --no-trust --force --disabled --replace -r --json --no-oauth --client-secret');

/** Reads the words after `claude mcp add`, `codex mcp add`, and others, whose flags may be before and after the name. */
export function readAdded(program: string, all: readonly string[]): Added {
  const { given, words } = divide(program, all);
  const valuesOf = (flags: readonly string[]): string[] =>
    given.flatMap(([flag, value]) => (flags.includes(flag) ? [value] : []));
  const [named, command] = [valuesOf(['--name']).at(-1), valuesOf(['--command']).at(-1)];
  const [name, ...others] = named === undefined ? words : [named, ...words];
  const rest = command === undefined ? others : [command, ...valuesOf(['--args']).flatMap(listed), ...others];
  const url = valuesOf(['--url']).at(-1) ?? rest.find((word, index) => index === 0 && isUrl(word));
  if (name === undefined || (url === undefined && rest.length === 0)) {
    throw invalid(`${program} mcp add needs a name and a command or a URL`, {
      hint: 'paste the complete command',
    });
  }
  const env = Object.fromEntries(valuesOf(variables).map((text) => divided(text, /=/)));
  const transport = valuesOf(transports).at(-1) ?? 'stdio';
  if (url === undefined && transport !== 'stdio') {
    throw invalid(`${JSON.stringify(rest[0])} is not the URL of a server`, {
      hint: 'replace it with a URL that begins with https:// or http://',
    });
  }
  if (url === undefined) return { name, env, words: rest };
  const isSse = transport === 'sse';
  const tokens = valuesOf(['--bearer-token-env-var']);
  const fields = [
    ...tokens.map((variable) => ['Authorization', `Bearer \${${variable}}`] as const),
    // Amp separates with an equals sign.
    ...valuesOf(headers).map((text) => divided(text, /[:=]/)),
  ];
  const clientId = valuesOf(['--client-id']).at(-1);
  const port = Number(valuesOf(['--callback-port']).at(-1) ?? Number.NaN);
  const oauth_config = {
    ...(clientId === undefined ? {} : { client_id: clientId }),
    ...(Number.isInteger(port) ? { callback_port: port } : {}),
  };
  const request: CreateWorkload = {
    url,
    ...(Object.keys(oauth_config).length === 0 ? {} : { oauth_config }),
    ...(isSse ? { transport: 'sse' } : {}),
    ...(fields.length === 0
      ? {}
      : {
          headers: fields.map(([header, value]) => ({
            name: header,
            description: '',
            required: true,
            secret: false,
            default: value,
          })),
        }),
  };
  return { name, env, remote: { request, notes: [] } };
}

/** The entry that the client would store, with its placeholders. */
export function addedEntry(program: string, all: readonly string[]): Found {
  const { name, env, ...added } = readAdded(program, all);
  if ('words' in added) {
    const [command = '', ...args] = added.words;
    // Some clients take the command in one text.
    return { name, path: [], entry: { command, ...(args.length > 0 ? { args } : {}), env } };
  }
  const { url, transport, headers: fields = [], oauth_config } = added.remote.request;
  const oauth = { clientId: oauth_config?.client_id, callbackPort: oauth_config?.callback_port };
  const values = (fields ?? []).map((field) => [field.name, field.default ?? ''] as const);
  return { name, path: [], entry: { url, env, type: transport, oauth, headers: Object.fromEntries(values) } };
}

interface Divided {
  given: (readonly [flag: string, value: string])[];
  words: string[];
}

function divide(program: string, all: readonly string[]): Divided {
  const given: (readonly [string, string])[] = [];
  const words: string[] = [];
  for (let index = 0; index < all.length; index += 1) {
    const word = all[index] ?? '';
    // After the program, all words belong to the server's command, unless the command is one text.
    const [, command] = words;
    if (word === '--') return { given, words: words.concat(all.slice(index + 1)) };
    if (command !== undefined && !isUrl(command) && !/\s/.test(command)) {
      const own = withoutScope(all.slice(index), given, {
        isContainer: isContainerProgram(command),
        takesAll: /^(?:gemini|qwen)$/.test(program),
      });
      return { given, words: words.concat(own) };
    }
    const [, flag = word, attached] = /^(--[\w-]+)=(.*)$/s.exec(word) ?? [];
    if (!word.startsWith('-')) words.push(word);
    else if (withValue.includes(flag)) {
      given.push([flag, attached ?? all[(index += 1)] ?? '']);
      // These take several values: --env A=1 B=2
      while (isAnother(flag, all[index + 1])) given.push([flag, all[(index += 1)] ?? '']);
    } else if (!switches.includes(flag))
      throw invalid(`the flag ${flag} of ${program} mcp add is not supported`, { hint: `omit ${flag}` });
  }
  return { given, words };
}

function isAnother(flag: string, next: string | undefined): boolean {
  if (next === undefined || isUrl(next)) return false;
  if (variables.includes(flag)) return /^[A-Za-z_]\w*=/.test(next);
  return headers.includes(flag) && /^[\w-]+:\s*\S/.test(next);
}

const ofGemini = /^--(?:timeout|description|include-tools|exclude-tools)(?:=|$)/;

/**
 * Clients also read their own flags behind the command of a server: `npx one --scope user --env A=1`. Without a `--`,
 * only these two cannot mean the server, or the container that the command starts. Gemini CLI takes all of its flags.
 */
function withoutScope(
  rest: readonly string[],
  given: Divided['given'],
  { isContainer, takesAll }: { isContainer: boolean; takesAll: boolean },
): string[] {
  const words: string[] = [];
  for (let index = 0; index < rest.length; index += 1) {
    const [word, next] = [rest[index] ?? '', rest[index + 1] ?? ''];
    if (word === '--') return words.concat(rest.slice(index + (isContainer ? 0 : 1)));
    const isScope = scopes.includes(word) && /^(?:user|project|local|global)$/.test(next);
    const isVariable = !isContainer && variables.includes(word) && /^[A-Za-z_]\w*=/.test(next);
    const isOther = takesAll && ofGemini.test(word);
    if (isScope || isVariable || (isOther && !word.includes('='))) {
      given.push([word, next]);
      index += 1;
    } else if (!isOther && !(takesAll && word === '--trust')) words.push(word);
  }
  return words;
}

/** The arguments in one text: `-y,package`, `-y package`, or a JSON list. */
function listed(text: string): string[] {
  if (text.startsWith('[')) {
    try {
      const list: unknown = JSON.parse(text);
      if (Array.isArray(list)) return list.map(String);
    } catch {
      // It is an argument.
    }
  }
  return /\s/.test(text) ? (wordsIn(text) ?? [text]) : text.split(',');
}

function isUrl(word: string): boolean {
  return /^https?:\/\//i.test(word);
}

function divided(text: string, separator: RegExp): readonly [string, string] {
  const at = text.search(separator);
  if (at > 0) return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
  // Without the text, which can be a value.
  throw invalid(separator.source === '=' ? '--env takes NAME=VALUE' : '--header takes NAME: VALUE');
}
