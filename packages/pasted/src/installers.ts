import { invalid } from '@toolhive/contract/failure';
import { readOtherFlags, switches, valuesOf, withValues } from './other-flags.ts';
import type { OtherFlags } from './other-flags.ts';
import { wordsIn } from './words.ts';
import { programOf } from './wrappers.ts';

/** A server that a command adds to clients or to a session of one, in the terms of the bridges. */
export type Installed =
  | { url: string; headers: Record<string, string>; type?: 'sse' | 'http'; note: string }
  | { words: readonly string[]; note: string };

/** The npm packages that add the server in their first argument to the files of clients. */
const adding = /^(?:add-mcp|install-mcp)(?:@[\w.^~-]+)?$/;
/** The npm packages that look their argument up in their own catalog. */
const lookingUp = /^(?:@smithery\/cli|mcp-get|@michaellatman\/mcp-get)(?:@[\w.^~-]+)?$/;
const starting = /^(?:npx|bunx|pnpx|npm|pnpm|yarn|bun|x|dlx|exec|-y|--yes|-q|--quiet|--)$/i;

const flags = {
  ...withValues('--header', '--headers', '-H', '--env', '-e', '--transport', '-t', '--type', '--name', '-n'),
  ...withValues('--client', '-c', '--agent', '-a', '--project-id'),
  ...switches('-y', '--yes', '-g', '--global', '--all', '--local', '--gitignore'),
};

/** The server that a command installs. Undefined for other commands. */
export function behindInstaller(words: readonly string[]): Installed | undefined {
  const at = words.findIndex((word) => !starting.test(word));
  const [name = '', ...rest] = at < 1 ? [] : words.slice(at);
  if (lookingUp.test(name) && rest[0] === 'install') throw ofCatalog(name);
  if (adding.test(name)) return added(name, rest);
  if (/^@modelcontextprotocol\/inspector(?:@[\w.^~-]+)?$/.test(name)) return inspected(rest);
  const [, verb = '', ...others] = words;
  if (programOf(words) === 'mcp-inspector') return inspected(words.slice(1));
  return programOf(words) === 'goose' && /^(?:session|run|web)$/.test(verb) ? inSession(others) : undefined;
}

/** `add-mcp URL`, `add-mcp PACKAGE`, and `add-mcp "COMMAND"`, with flags before and after. */
function added(name: string, rest: readonly string[]): Installed | undefined {
  const front = readOtherFlags(name, rest, flags);
  const [target, ...behind] = front.words;
  if (target === undefined) return undefined;
  const given = [...front.given, ...readOtherFlags(name, behind, flags).given];
  const note = `ToolHive runs the server itself, and ${name.replace(/@.*$/, '')} is not started`;
  if (/^https?:\/\//i.test(target)) {
    const headers = Object.fromEntries(
      valuesOf(given, '--header', '--headers', '-H').map((text) => {
        const separator = text.search(/[:=]/);
        return [text.slice(0, separator).trim(), text.slice(separator + 1).trim()] as const;
      }),
    );
    const transport = valuesOf(given, '--transport', '-t', '--type').at(-1);
    return { url: target, headers, ...(transport === 'sse' ? { type: 'sse' as const } : {}), note };
  }
  const command = wordsIn(target) ?? [];
  const variables = valuesOf(given, '--env', '-e').filter((text) => /^[A-Za-z_]\w*=/.test(text));
  const started = command.length > 1 ? command : ['npx', '-y', target];
  return { words: [...(variables.length > 0 ? ['env', ...variables] : []), ...started], note };
}

/** `goose session --with-extension "COMMAND"` and `--with-streamable-http-extension URL`. */
function inSession(words: readonly string[]): Installed | undefined {
  const note = 'ToolHive runs the server itself, and goose is not started';
  const at = words.findIndex((word) => /^--with-(?:[a-z-]+-)?extension(?:=|$)/.test(word));
  const [, flag = words[at], attached] = /^(--[a-z-]+)=(.*)$/s.exec(words[at] ?? '') ?? [];
  const value = attached ?? words[at + 1] ?? '';
  if (flag === '--with-extension') return { words: wordsIn(value) ?? [value], note };
  if (flag === undefined || !/^https?:\/\//i.test(value)) return undefined;
  return { url: value, headers: {}, type: flag === '--with-remote-extension' ? 'sse' : 'http', note };
}

const calling = [
  '--method',
  '--tool-name',
  '--tool-arg',
  '--prompt-name',
  '--prompt-args',
  '--uri',
  '--log-level',
];
const inspecting = {
  ...withValues('-e', '--header', '--transport', '--server-url', '--config', '--server', ...calling),
  ...switches('--cli'),
};

/** `mcp-inspector [FLAGS] COMMAND` and `mcp-inspector --cli URL --method tools/list`, which calls the server once. */
function inspected(all: readonly string[]): Installed {
  const name = 'the MCP Inspector';
  const note = `${name} is not started. Use thv inspector for that`;
  const front = readOtherFlags(name, all, inspecting, /^-/);
  const isCall = front.given.some(([flag]) => flag === '--cli');
  const behind = isCall ? withoutCall(front.words) : { given: [], words: front.words };
  const given = [...front.given, ...behind.given];
  const [file] = valuesOf(given, '--config');
  if (file !== undefined) {
    throw invalid(`${name} reads its servers from a file`, {
      hint: `import the file: thv import ${/^[\w./~-]+$/.test(file) ? file : 'FILE'}`,
    });
  }
  const [first = ''] = behind.words;
  const url = valuesOf(given, '--server-url').at(-1) ?? first;
  if (/^https?:\/\//i.test(url)) {
    const headers = valuesOf(given, '--header').map((text) => {
      const [key = ''] = text.split(':', 1);
      return [key.trim(), text.slice(key.length + 1).trim()] as const;
    });
    const isSse = valuesOf(given, '--transport').at(-1) === 'sse';
    return { url, headers: Object.fromEntries(headers), ...(isSse ? { type: 'sse' as const } : {}), note };
  }
  const variables = valuesOf(given, '-e').filter((text) => /^[A-Za-z_]\w*=/.test(text));
  return { words: [...(variables.length > 0 ? ['env', ...variables] : []), ...behind.words], note };
}

/** Divides the words of a server from the flags behind them, which name the call. */
function withoutCall(words: readonly string[]): Pick<OtherFlags, 'given' | 'words'> {
  const own: string[] = [];
  const given: (readonly [string, string])[] = [];
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? '';
    if (calling.includes(word) || /^--(?:transport|header)$/.test(word))
      given.push([word, words[(index += 1)] ?? '']);
    else own.push(word);
  }
  return { given, words: own };
}

function ofCatalog(name: string): Error {
  return invalid(`${name.replace(/(.)@.*$/, '$1')} install adds a server from its own catalog to a client`, {
    hint: 'use the command, the package, or the URL that the page of the server shows',
  });
}
