import { printable } from '@toolhive/contract/printable';
import type { FoundEntry } from './scan.ts';

/** The command that imports an entry, with words that a shell reads as they are. Others may have written the names. */
export function importCommand({ place, name }: FoundEntry): string {
  const source = place.scope === 'user' ? place.application.id : place.path;
  return ['thv', 'import', source, name].map(quoted).join(' ');
}

/** Quotes a word for a POSIX shell. */
function quoted(word: string): string {
  const text = printable(word);
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
