import { invalid } from '@toolhive/contract/failure';
import type { CreateWorkload } from '@toolhive/contract/workload';
import type { Pasted } from './pasted.ts';

/** What a command such as `claude mcp add` adds: a remote server, or a command line. */
export type Added = { name: string; env: Record<string, string> } & (
  { remote: Pasted } | { words: readonly string[] }
);

const transports = ['-t', '--transport'];
const variables = ['-e', '--env'];
const headers = ['-H', '--header'];
const withValue = [
  ...transports,
  ...variables,
  ...headers,
  '-s',
  '--scope',
  '--url',
  '--timeout',
  '--callback-port',
];

/** Reads the words after `claude mcp add`, `codex mcp add`, and others, whose flags may be before and after the name. */
export function readAdded(program: string, all: readonly string[]): Added {
  const given: (readonly [string, string])[] = [];
  const words: string[] = [];
  for (let index = 0; index < all.length; index += 1) {
    const word = all[index] ?? '';
    // After the program, all words belong to the server's command.
    if (word === '--' || (words[1] !== undefined && !isUrl(words[1]))) {
      words.push(...all.slice(word === '--' ? index + 1 : index));
      break;
    }
    const [, flag = word, attached] = /^(--[\w-]+)=(.*)$/s.exec(word) ?? [];
    if (!word.startsWith('-')) words.push(word);
    else if (withValue.includes(flag)) given.push([flag, attached ?? all[(index += 1)] ?? '']);
    else throw invalid(`the flag ${flag} of ${program} mcp add is not supported`, { hint: `omit ${flag}` });
  }
  const [name, ...rest] = words;
  const valuesOf = (flags: readonly string[]): string[] =>
    given.flatMap(([flag, value]) => (flags.includes(flag) ? [value] : []));
  const url = valuesOf(['--url']).at(-1) ?? rest.find((word, index) => index === 0 && isUrl(word));
  if (name === undefined || (url === undefined && rest.length === 0)) {
    throw invalid(`${program} mcp add needs a name and a command or a URL`, {
      hint: 'paste the complete command',
    });
  }
  const env = Object.fromEntries(valuesOf(variables).map((text) => divided(text, '=')));
  if (url === undefined) return { name, env, words: rest };
  const isSse = valuesOf(transports).at(-1) === 'sse';
  const fields = valuesOf(headers).map((text) => divided(text, ':'));
  const request: CreateWorkload = {
    url,
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

function isUrl(word: string): boolean {
  return /^https?:\/\//i.test(word);
}

function divided(text: string, separator: '=' | ':'): readonly [string, string] {
  const at = text.indexOf(separator);
  if (at > 0) return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
  // Without the text, which can be a value.
  throw invalid(separator === '=' ? '--env takes NAME=VALUE' : '--header takes NAME: VALUE');
}
