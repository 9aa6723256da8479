import { invalid } from '@toolhive/contract/failure';
import { absolutePath } from './paths.ts';
import type { PastedFrom } from './pasted.ts';
import { wordsIn } from './words.ts';

/** A command that a shell starts, after the commands that only prepare the shell. */
export interface ShellCommand {
  words: string[];
  env: Record<string, string>;
  /** Files of variables that the command reads first. */
  files: string[];
  directory: string | undefined;
}

/** Commands that find programs, for which ToolHive has its own ways. */
const preparation = /^(?:source|\.|nvm|fnm|eval|set|unset|ulimit|umask)(?:\s|$)/;

/** Other files that a shell reads are scripts. */
const isDotenv = /(?:^|[\\/])(?:\.env(?:\.\w+)?|[\w.-]+\.env)$/;

/** Reads the text after `bash -c`: `cd DIR && export NAME=value && exec npx package`. Throws for anything else. */
export function readShellText(text: string, from: Pick<PastedFrom, 'directory'>): ShellCommand {
  const parts = text.split(/\s*&&\s*|\s*;\s*/).filter((part) => part !== '');
  const env: Record<string, string> = {};
  const files: string[] = [];
  let { directory } = from;
  for (const part of parts.slice(0, -1)) {
    const words = wordsIn(part) ?? [];
    const [program, first = ''] = words;
    const assigned = readAssignments(part);
    if (program === 'cd' && words.length === 2) directory = absolutePath(first, { directory });
    else if (assigned !== undefined) Object.assign(env, assigned);
    else if (/^(?:source|\.)$/.test(program ?? '') && isDotenv.test(first))
      files.push(absolutePath(first, { directory }));
    else if (!preparation.test(part)) throw severalPrograms();
  }
  const words = wordsIn((parts.at(-1) ?? '').replace(/^exec\s+/, ''));
  if (words === undefined || words.length === 0) throw severalPrograms();
  return { words, env, files, directory };
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
const isForShell = (value: string): boolean => /^(?:\$\(.*\)|`.*`|\$(?:env:)?\w+)$/s.test(value);

export function severalPrograms(): Error {
  return invalid('a shell command that is more than one program cannot be run in isolation', {
    hint: 'use npx, uvx, go run, or docker run without the shell',
  });
}
