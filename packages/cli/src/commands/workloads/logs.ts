import type { CommandCall } from '../../command.ts';
import { isPart, partFrom } from '../../part-flags.ts';
import { followLog } from './log-text.ts';

/** Prints the last output of a server or the last notes of its proxy, and optionally follows the log. */
export async function run(call: CommandCall): Promise<void> {
  const {
    arguments: [name = ''],
    flags,
    out,
    client,
    signal,
  } = call;
  const part = partFrom(flags, ['search', 'until']);
  const daemon = await client();
  const read = flags.has('proxy') ? daemon.getProxyLogs : daemon.getWorkloadLogs;
  const follow = flags.has('follow') ? 'true' : undefined;
  let isEmpty = true;
  try {
    await followLog(out, (onText) =>
      read(
        { params: { name }, query: { tail: flags.number('tail'), follow, ...part } },
        {
          signal,
          onText: (piece) => {
            isEmpty &&= piece === '';
            onText(piece);
          },
        },
      ),
    );
  } catch (thrown) {
    // Ctrl-C is how following ends.
    if (follow === undefined || !signal.aborted) throw thrown;
    return;
  }
  if (!isEmpty) return;
  if (isPart(part)) out.note('No lines match.');
  else
    out.note(flags.has('proxy') ? `The proxy of ${name} has noted nothing.` : `${name} has written nothing.`);
}
