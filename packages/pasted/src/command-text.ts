import type { RawEntry } from './client-document.ts';
import { readInstallation } from './client-install.ts';
import { isContainerProgram } from './docker-run.ts';
import { isCommandLine } from './launchers.ts';
import { wordsIn } from './words.ts';

/** More lines are a page. */
const maxLines = 50;

/**
 * Reads commands and URLs as people copy them from a page: one in each line, maybe with a prompt, over several lines, or
 * in a fence. Undefined if the text is something else. The entries have no names.
 */
export function readCommandText(text: string): RawEntry[] | undefined {
  const lines = linesOf(text);
  if (lines.length === 0 || lines.length > maxLines) return undefined;
  const entries: RawEntry[] = [];
  for (const line of lines) {
    const found = entriesIn(line);
    if (found === undefined) return undefined;
    entries.push(...found);
  }
  return entries;
}

function linesOf(text: string): string[] {
  const [, , fenced] = /^(`{3,}|~{3,})[^\n]*\n(.*)\n\1$/s.exec(text.trim()) ?? [];
  return (fenced ?? text)
    .replaceAll(/(?<![ \t])[ \t]+[\\^`][ \t]*\r?\n\s*/g, ' ') // continued on the next line
    .split(/\r?\n/)
    .map((line) => line.trim().replace(/^(?:[$%>]|PS [^>]*>)[ \t]+/, ''))
    .filter((line) => line !== '' && !line.startsWith('#'));
}

function entriesIn(line: string): readonly RawEntry[] | undefined {
  if (/^https?:\/\/\S+$/i.test(line)) return [unnamed({ url: line })];
  const words = wordsIn(line) ?? [];
  const installation = readInstallation(words);
  if (installation !== undefined && !installation.isHidden) return installation.entries;
  const [command = '', ...args] = words;
  if (!isCommandLine(words)) return undefined;
  return [unnamed({ command, args, env: isContainerProgram(command) ? passedIn(args) : {} })];
}

/** The variables of the user that `docker run -e NAME` passes on. Only the user knows their values. */
function passedIn(args: readonly string[]): Record<string, string> {
  const names = args.filter(
    (word, index) => /^(?:-e|--env)$/.test(args[index - 1] ?? '') && /^[A-Za-z_]\w*$/.test(word),
  );
  return Object.fromEntries(names.map((name) => [name, `\${${name}}`]));
}

const unnamed = (entry: RawEntry['entry']): RawEntry => ({ name: '', workload: '', notes: [], entry });
