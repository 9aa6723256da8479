import type { CommandCall } from '../command.ts';
import { printable } from '../out.ts';

/** Prints what a server wrote last. */
export async function run({
  arguments: [name = ''],
  flags,
  out,
  client,
  signal,
}: CommandCall): Promise<void> {
  const hive = await client();
  const text = await hive.getWorkloadLogs(
    { params: { name }, query: { tail: flags.number('tail') } },
    { signal },
  );
  if (text === '') return out.note(`${name} has written nothing.`);
  for (const line of text.trimEnd().split('\n')) out.line(printable(line));
}
