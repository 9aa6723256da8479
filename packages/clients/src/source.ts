import { conflict } from '@toolhive/contract/failure';
import type { ThvError } from '@toolhive/contract/failure';

/** The text of a configuration file and the name of its client. */
export interface Source {
  path: string;
  text: string;
}

const hint = 'fix the file. ToolHive does not change it until then';

/** The problem in a file, and its position. Lines and columns count from one. */
export function conflictAt({ path, text }: Source, offset: number, what: string): ThvError {
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  const column = offset - (before.lastIndexOf('\n') + 1) + 1;
  return conflict(`${path}, line ${line}, column ${column}: ${what}`, { hint });
}

/** What is wrong with a file as a whole. */
export function conflictIn({ path }: Source, what: string, cause?: unknown): ThvError {
  return conflict(`${path} ${what}`, { hint, cause });
}

/** How the lines of a text end. */
export function lineEnd(text: string): string {
  const newline = text.indexOf('\n');
  return newline > 0 && text[newline - 1] === '\r' ? '\r\n' : '\n';
}

export function lineStartAt(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1;
}

/** The indentation of the line at an offset. */
export function indentAt(text: string, offset: number): string {
  return /[ \t]*/y.exec(text.slice(lineStartAt(text, offset), offset))?.[0] ?? '';
}
