import type { CommandCall } from '../../command.ts';
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
  const daemon = await client();
  const read = flags.has('proxy') ? daemon.getProxyLogs : daemon.getWorkloadLogs;
  const follow = flags.has('follow') ? 'true' : undefined;
  let isEmpty = true;
  try {
    await followLog(out, (onText) =>
      read(
        { params: { name }, query: { tail: flags.number('tail'), follow } },
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
  if (isEmpty)
    out.note(flags.has('proxy') ? `The proxy of ${name} has noted nothing.` : `${name} has written nothing.`);
}
