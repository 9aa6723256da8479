import { invalid } from '@toolhive/contract/failure';
import { absolutePath } from './paths.ts';
import type { PastedFrom } from './pasted.ts';
import { hasPlaceholder } from './placeholders.ts';
import { wordsIn } from './words.ts';

/** A command that a shell starts, after the commands that only prepare the shell. */
export interface ShellCommand {
  words: string[];
  env: Record<string, string>;
  /** Files of variables that the command reads first. */
  files: string[];
  directory: string | undefined;
}

/** Commands that find programs, for which ToolHive has its own ways, and tests before them. */
const preparation = /^(?:source|\.|nvm|fnm|eval|set|unset|ulimit|umask|hash|true|:|test|\[{1,2})(?:\s|$)/;

/** Other files that a shell reads are scripts. */
const isDotenv = /(?:^|[\\/])(?:\.env(?:\.\w+)?|[\w.-]+\.env)$/;

/** Unix shells. Their options can be one word: `-lic`. */
export const shells = ['bash', 'sh', 'zsh', 'dash', 'ksh', 'ash', 'fish'] as const;
export const powerShells = ['powershell', 'pwsh'] as const;

/** The command in one text that follows a shell. */
export interface ShellText {
  text: string;
  /** The words that the shell passes to the text: `$0`, `$1`, and others. */
  passed: readonly string[];
}

/** The text after `bash -lc`, undefined if the shell reads a file or a terminal instead. */
export function textOfShell(words: readonly string[]): ShellText | undefined {
  let isText = false;
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (!/^[-+]./.test(word)) {
      return isText ? { text: word, passed: words.slice(at + 1) } : undefined;
    }
    const isLong = word.startsWith('--');
    if (word === '--command' || (!isLong && word.startsWith('-') && word.includes('c'))) isText = true;
    if (/^(?:[-+][a-z]*[oO]|--(?:rcfile|init-file))$/i.test(word)) at += 1;
  }
  return undefined;
}

/** PowerShell's options, which can be abbreviated. */
const powerShellSwitch = /^[-/](?:nop\w*|nol\w*|noni\w*|noe\w*|sta|mta|l|login)$/i;
const powerShellValue = /^[-/](?:ex\w*|ep|w|wi\w*|inp?\w*|if|o|of|ou\w*|v|ve\w*)$/i;
const powerShellCommand = /^[-/]c(?:o(?:m\w*)?)?$/i;

/** The text after `powershell -NoProfile -Command`, which can be several words. */
export function textOfPowerShell(words: readonly string[]): ShellText | undefined {
  let at = 0;
  while (powerShellSwitch.test(words[at] ?? '') || powerShellValue.test(words[at] ?? ''))
    at += powerShellValue.test(words[at] ?? '') ? 2 : 1;
  const text = words.slice(at + 1).join(' ');
  return powerShellCommand.test(words[at] ?? '') && text.trim() !== '' ? { text, passed: [] } : undefined;
}

/** Reads the text after `bash -c`: `cd DIR && export NAME=value && exec npx package`. Throws for anything else. */
export function readShellText(
  { text, passed }: ShellText,
  from: Pick<PastedFrom, 'directory' | 'env'>,
): ShellCommand {
  const parts = partsOf(text);
  const env: Record<string, string> = {};
  const files: string[] = [];
  let { directory } = from;
  for (const part of parts.slice(0, -1)) {
    const words = wordsIn(withoutRedirection(part)) ?? [];
    const [program, first = ''] = words;
    const assigned = readAssignments(part);
    if (program === 'cd' && words.length === 2) directory = absolutePath(first, { directory });
    else if (assigned !== undefined) Object.assign(env, assigned);
    else if (/^(?:source|\.)$/.test(program ?? '') && isDotenv.test(first))
      files.push(absolutePath(first, { directory }));
    else if (!preparation.test(part)) throw severalPrograms();
  }
  // ToolHive finds the programs itself.
  delete env['PATH'];
  const words = wordsIn(withoutRedirection((parts.at(-1) ?? '').replace(/^exec\s+/, '')));
  if (words === undefined || words.length === 0) throw severalPrograms();
  const known = { ...from.env, ...env };
  const expanded = withPassed(words, passed).map((word) => withVariables(word, known));
  return { words: expanded, env, files, directory };
}

/** A text's commands, without the `|| exit 1` that only handles a failure. */
function partsOf(text: string): string[] {
  return divided(block(text.trim()))
    .map((part) => block(part.trim()))
    .filter((part) => part !== '' && !isGuard(part));
}

const isGuard = (part: string): boolean => /^\|\|\s*(?:exit(?: \d+)?|return|true|:)$/.test(part);

/** `& { npx package }` and `& npx package` of PowerShell are the command itself. */
function block(text: string): string {
  const called = text.replace(/^&\s*(?=[^&\s])/, '');
  return called.startsWith('{') && called.endsWith('}') ? called.slice(1, -1).trim() : called;
}

/** Divides a text at `&&`, `;`, and line ends, and before `||`, all outside of quotes. */
function divided(text: string): string[] {
  const parts: string[] = [];
  let [start, quote] = [0, ''];
  for (let at = 0; at < text.length; at += 1) {
    const mark = text[at] ?? '';
    if (mark === '\\' && quote !== "'") at += 1;
    else if (quote !== '') quote = mark === quote ? '' : quote;
    else if (mark === '"' || mark === "'") quote = mark;
    else {
      const length = text.startsWith('&&', at) ? 2 : mark === ';' || mark === '\n' ? 1 : 0;
      if (length === 0 && !text.startsWith('||', at)) continue;
      parts.push(text.slice(start, at));
      start = at + length;
      at += length === 0 ? 1 : length - 1;
    }
  }
  return [...parts, text.slice(start)];
}

/** ToolHive keeps a server's log itself: `2>/dev/null`, `2>&1`, `2>>server.log`. */
function withoutRedirection(command: string): string {
  return command.trim().replace(/(?<!\s)\s+2>>?\s*(?:&1|[\w./~$-]+)$/, '');
}

/** Replaces `"$@"` and `$1` with the words after the text. Throws if the text does not use these words. */
function withPassed(words: readonly string[], passed: readonly string[]): string[] {
  if (passed.length === 0) return words.filter((word) => word !== '$@');
  const isUsed = words.some((word) => /^\$(?:[@*]|\d)$/.test(word));
  if (!isUsed) throw severalPrograms();
  return words.flatMap((word) => {
    const [, name] = /^\$([@*]|\d)$/.exec(word) ?? [];
    if (name === undefined) return word;
    return /\d/.test(name) ? (passed[Number(name)] ?? []) : passed.slice(1);
  });
}

/** Replaces the variables that are known. A placeholder does not count as a value. */
function withVariables(word: string, env: PastedFrom['env']): string {
  return word.replaceAll(
    /\$([A-Za-z_]\w*)(?!:)|\$\{([A-Za-z_]\w*)\}/g,
    (whole, plain: string, braced: string) => {
      const value = env[plain ?? braced];
      return value === undefined || hasPlaceholder(value) ? whole : value;
    },
  );
}

/**
 * `bash -c "npx one --token $TOKEN"`: a placeholder for each variable that neither the text nor the environment sets. The
 * others get their values when the text is divided into words, because they can contain quotes.
 */
export function withBracesInText(words: readonly string[], env: PastedFrom['env']): string[] {
  const found = textOfShell(words.slice(1)) ?? textOfPowerShell(words.slice(1));
  if (found === undefined) return [...words];
  const set = new Set([...found.text.matchAll(/\b([A-Za-z_]\w*)=/g)].map(([, name]) => name));
  return words.map((word) =>
    word === found.text
      ? word.replaceAll(/(?<![\\$])\$([A-Za-z_]\w*)(?![\w:])/g, (whole, name: string) =>
          set.has(name) || env[name] !== undefined ? whole : `\${${name}}`,
        )
      : word,
  );
}

/**
 * The variables that a command only sets: `export NAME=value`, `set` and `setx` of Windows, `$env:NAME = "value"` of
 * PowerShell, and `NAME=value` alone. A value that only a shell knows becomes a placeholder. Undefined for other commands.
 */
export function readAssignments(command: string): Record<string, string> | undefined {
  const text = command
    .trim()
    .replace(/^\$env:(\w+)\s*=\s*/i, 'export $1=')
    .replace(/^setx\s+([A-Za-z_]\w*)\s+/i, 'export $1=')
    .replace(/^set\s+-gx\s+([A-Za-z_]\w*)\s+/, 'export $1=')
    .replace(/^set\s+"?([A-Za-z_]\w*)=([^&|<>"]*)"?$/i, 'export "$1=$2"');
  const words = wordsIn(text) ?? [];
  const given = words[0] === 'export' ? words.slice(1) : words;
  const pairs = given.map((word) => /^([A-Za-z_]\w*)=(.*)$/s.exec(word));
  if (pairs.length === 0 || pairs.includes(null)) return undefined;
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name = '', value = ''] = pair ?? [];
      return [name, isForShell(value) ? `\${${name}}` : value];
    }),
  );
}

/** `$(gh auth token)`, `` `pass show x` ``, and `$TOKEN`. */
export const isForShell = (value: string): boolean => /^(?:\$\(.*\)|`.*`|\$(?:env:)?\w+)$/s.test(value);

export function severalPrograms(): Error {
  return invalid('a shell command that is more than one program cannot be run in isolation', {
    hint: 'use npx, uvx, go run, or docker run without the shell',
  });
}
