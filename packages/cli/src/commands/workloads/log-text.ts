import type { Out } from '../../out.ts';
import { LineSplitter } from '@toolhive/contract/line-splitter';
import { printable } from '@toolhive/contract/printable';

/** Prints a log line by line, escaped for a terminal, or for programs. */
export async function followLog(
  out: Out,
  read: (onText: (piece: string) => void) => Promise<unknown>,
): Promise<void> {
  const splitter = new LineSplitter();
  await read((piece) => {
    for (const line of splitter.add(piece)) out.record({ line }, printable(line));
  });
  const rest = splitter.take();
  if (rest !== '') out.record({ line: rest }, printable(rest));
}
