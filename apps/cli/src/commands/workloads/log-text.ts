import type { Out } from '../../out.ts';
import { printable } from '@toolhive/contract/printable';

/** Prints a log line by line, escaped for a terminal, or for programs. */
export async function followLog(
  out: Out,
  read: (onText: (piece: string) => void) => Promise<unknown>,
): Promise<void> {
  let rest = '';
  await read((piece) => {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) out.record({ line }, printable(line));
  });
  if (rest !== '') out.record({ line: rest }, printable(rest));
}
