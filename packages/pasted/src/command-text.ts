import { ThvError } from '@toolhive/contract/failure';
import type { Found, RawEntry } from './client-document.ts';
import { readInstallation } from './client-install.ts';
import { isContainerProgram } from './docker-run.ts';
import { addedEntry, addingPrograms } from './client-add.ts';
import { uniqueNames } from './entry-names.ts';
import { isCommandLine } from './launchers.ts';
import { commandOfPage } from './package-pages.ts';
import { isOfOtherLanguage } from './other-languages.ts';
import { programOf } from './wrappers.ts';
import { readAssignments } from './shell-command.ts';
import { wordsIn } from './words.ts';

/** More lines are a page. */
const maxLines = 50;

/**
 * Reads commands and URLs as people copy them from a page: one in each line, maybe with a prompt, over several lines,
 * after lines that set variables, or in a fence. Undefined if the text is something else. The entries have no names.
 */
export function readCommandText(text: string): RawEntry[] | undefined {
  const lines = linesOf(text);
  if (lines.length === 0) return undefined;
  const entries: RawEntry[] = [];
  const env: Record<string, string> = {};
  let isPrepared = false;
  for (const { line, isOutput } of lines) {
    if (lines.length > 1 && preparation.test(line)) {
      isPrepared = true;
      continue;
    }
    const assigned = readAssignments(line);
    const found = assigned === undefined ? (entriesIn(line, env) ?? refused(line, lines.length)) : [];
    if (assigned !== undefined) Object.assign(env, assigned);
    else if (found !== undefined) entries.push(...found);
    else if (!isOutput) return undefined;
  }
  if (entries.length === 0) return undefined;
  const notes = isPrepared ? ['the commands that prepare the machine are left out'] : [];
  return distinct(entries).map((entry) => ({ ...entry, notes: [...entry.notes, ...notes] }));
}

/** Commands beside that of a server. ToolHive installs servers itself, and a session of a client shows nothing here. */
const preparation = new RegExp(
  `^(?:${[
    String.raw`(?:cd|mkdir|touch|source|brew|winget|choco|apt|apt-get|curl)\s`,
    String.raw`git clone\s`,
    String.raw`(?:npm|pnpm|yarn|bun)(?:\s+(?:i|ci|add|install|link|build|run build)\b.*)?$`,
    String.raw`(?:python3? -m )?pip3? install\s`,
    String.raw`python3? -m venv\s`,
    String.raw`(?:uv (?:sync|venv|pip|add|tool install)|pipx install|docker (?:pull|login|build))\b`,
    String.raw`(?:claude|codex|gemini|amp|droid|goose)(?:\s+mcp\s+(?:list|get|remove|login|reset)\b.*)?$`,
  ].join('|')})`,
);

/** A page shows the same server for several clients. Different servers with the same name get different ones. */
function distinct(entries: readonly RawEntry[]): RawEntry[] {
  const different = new Map(entries.map((each) => [JSON.stringify([each.name, each.entry]), each]));
  const all = [...different.values()];
  const named = all.filter(({ name }) => name !== '');
  const names = uniqueNames(named.map(({ name, entry }) => ({ name, path: [], entry })));
  return all.map((each) => {
    const { workload, notes } = names[named.indexOf(each)] ?? each;
    return { ...each, workload, notes };
  });
}

/** In front of a command, in the shells that people use. */
const prompt =
  /^(?:\([\w.-]{1,60}\) ?)?(?:[$%>\u276F\u279C\u03BB][ \t]+|PS [^>]{0,200}>[ \t]*|[A-Za-z]:\\[^>]{0,200}>[ \t]*|[\w.-]{1,60}@[\w.-]{1,60}[: ][^$#%>\s]{0,200}[$#%>][ \t]+)(?=\S)/;
/** Marks of web pages, which do not belong to a command. */
const spaces = /[\u00A0\u2007\u202F]/g;
const invisible = /[\u200B-\u200D\u2060\uFEFF]/g;
/** Word processors make one dash of two. */
const longDash = /(?<=^|\s)(?:[\u2013\u2014\u2212][-\u2013]?|-\u2013)(?=[A-Za-z][\w-]+)/g;
const shortDash = /(?<=^|\s)[\u2013\u2014\u2212](?=[A-Za-z](?:\s|$))/g;

interface Line {
  line: string;
  /** Whether the line can be output of a command, because only others have a prompt. */
  isOutput: boolean;
}

function linesOf(text: string): Line[] {
  const plain = text.replaceAll(invisible, '').replaceAll(spaces, ' ').trim();
  const [, , fenced] = /^(`{3,}|~{3,})[^\n]*\n(.*)\n\1$/s.exec(plain) ?? [];
  const [, quoted] = /^`([^`\n]+)`$/.exec(plain) ?? [];
  const [, address] = /^<(https?:\/\/[^<>\s]+)>$/i.exec(plain) ?? [];
  const lines = (fenced ?? quoted ?? address ?? plain)
    .replaceAll(/(?<![ \t])[ \t]+[\\^`][ \t]*\r?\n(?:[ \t]*#[^\n]*\n)*\s*/g, ' ') // continued on the next line
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#') && !/^(?:REM|::)\s/i.test(line));
  if (lines.length > maxLines) return [];
  const hasPrompts = prompt.test(lines[0] ?? '');
  return lines.map((line) => ({
    line: line.replace(prompt, '').replaceAll(longDash, '--').replaceAll(shortDash, '-'),
    isOutput: hasPrompts && !prompt.test(line),
  }));
}

/** The address of a page without its scheme, as some browsers show it. */
const bareAddress = /^(?:www\.)?(?:github|gitlab|npmjs|pypi|hub\.docker)\.(?:com|org)\/\S+$/i;

function entriesIn(line: string, env: Readonly<Record<string, string>>): readonly RawEntry[] | undefined {
  const address = bareAddress.test(line) ? `https://${line}` : line;
  if (/^https?:\/\/\S+$/i.test(address)) {
    const command = commandOfPage(address);
    return [unnamed(command === undefined ? { url: address } : { command })];
  }
  const words = withoutPackage(wordsIn(withPlainQuotes(line)));
  // Only a shell reads it: `cd DIR && npx one`.
  if (words === undefined) {
    const last = wordsIn(line.split(/&&|;/).at(-1)?.trim() ?? '') ?? [];
    return isCommandLine(last) ? [unnamed({ command: 'sh', args: ['-c', line], env })] : undefined;
  }
  const added = addedIn(words);
  if (added !== undefined) return uniqueNames([added]);
  const installation = readInstallation(words);
  if (installation !== undefined && !installation.isHidden) return installation.entries;
  const [command = '', ...args] = words;
  if (!isCommandLine(words)) return undefined;
  const passed = isContainerProgram(command) ? passedIn(args) : {};
  return [unnamed({ command, args, env: { ...passed, ...env } })];
}

/** `"{""command"": ""npx""}"`: PowerShell and cmd double the quotes in a word. */
function withPlainQuotes(line: string): string {
  if (line.length > 10_000) return line;
  return line.replace(
    /"(\s*\{\s*"".*\})\s*"/,
    (_word, json: string) => `"${json.replaceAll('""', String.raw`\"`)}"`,
  );
}

/** Client packages whose programs add servers. */
const clientPackages: Readonly<Record<string, string>> = {
  '@anthropic-ai/claude-code': 'claude',
  '@openai/codex': 'codex',
  '@google/gemini-cli': 'gemini',
  '@qwen-code/qwen-code': 'qwen',
  'opencode-ai': 'opencode',
};

/** `npx @anthropic-ai/claude-code mcp add …` is `claude mcp add …`. */
function withoutPackage(words: readonly string[] | undefined): readonly string[] | undefined {
  if (words === undefined || !/^(?:npx|bunx|pnpx)$/.test(programOf(words))) return words;
  const at = words.findIndex((word, index) => index > 0 && !/^(?:-y|--yes|--)$/.test(word));
  const name = (words[at] ?? '').replace(/(?<=.)@[^/]*$/, '');
  const program = Object.hasOwn(clientPackages, name) ? clientPackages[name] : undefined;
  const adds = words[at + 1] === 'mcp' && /^add(?:-json)?$/.test(words[at + 2] ?? '');
  return program !== undefined && adds ? [program, ...words.slice(at + 1)] : words;
}

/** Programs that people paste, and that start no server here, as the reader of the command says. */
const others =
  /^(?:nix|brew|docker|podman|npm|pnpm|yarn|pip3?|pipx|uv|claude|codex|gemini|goose|fastmcp|mcpm|mcphost|mcpo|mcp-hub|mcp-proxy|nix-shell|devbox|devenv|flox|guix|git|make)$/;

/** A program of this machine, which others cannot be confused with: `~/.venv/bin/server`, `mcp-server-git`. */
const namedProgram =
  /^(?:(?:~|\$HOME|[A-Za-z]:|%\w{1,40}%)?[\\/][^\\/:*?<>|]+[\\/][^:*?<>|]+|(?=[\w.-]*mcp)[A-Za-z]\w*(?:-\w+)+)$/;

function refused(line: string, lines: number): RawEntry[] | undefined {
  const [command = '', ...args] = wordsIn(line) ?? [];
  if (lines !== 1) return undefined;
  const isMeant =
    ((others.test(programOf([command])) || isOfOtherLanguage([command])) && args.length > 0) ||
    namedProgram.test(command);
  return isMeant ? [unnamed({ command, args })] : undefined;
}

/** The server of `claude mcp add` and similar commands. Undefined for others, and for one with a mistake. */
function addedIn(words: readonly string[]): Found | undefined {
  const program = programOf(words);
  if (!addingPrograms.includes(program) || words[1] !== 'mcp' || words[2] !== 'add') return undefined;
  try {
    return addedEntry(program, words.slice(3));
  } catch (thrown) {
    if (thrown instanceof ThvError) return undefined;
    throw thrown;
  }
}

/** The variables of the user that `docker run -e NAME` passes on. Only the user knows their values. */
function passedIn(args: readonly string[]): Record<string, string> {
  const names = args.filter(
    (word, index) => /^(?:-e|--env)$/.test(args[index - 1] ?? '') && /^[A-Za-z_]\w*$/.test(word),
  );
  return Object.fromEntries(names.map((name) => [name, `\${${name}}`]));
}

const unnamed = (entry: RawEntry['entry']): RawEntry => ({ name: '', workload: '', notes: [], entry });
