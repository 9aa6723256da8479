import { openControl } from '@toolhive/control/control';
import type { CommandCall, FlagValues } from '../../command.ts';
import { openLog } from '../../log.ts';
import { version } from '../../version.ts';
import { untilAborted } from '../../wait.ts';
import { accessFor } from '../access.ts';
import { portFrom, portOf } from '../port.ts';

/** Serves ToolHive's tools until a signal stops it. */
export async function run({ flags, out, signal, client }: CommandCall): Promise<void> {
  const host = flags.text('host') ?? 'localhost';
  const check = await accessFor(flags, { host, what: 'the tools', note: out.note });
  const port = listeningPort(flags);
  const log = openLog({ debug: flags.has('debug') });
  await using control = await openControl({
    host,
    port,
    daemon: client,
    version,
    access: check && { check },
    onFault: (error) => log.error({ err: error }, 'unexpected failure'),
  });
  out.record({ url: control.url }, `The tools of ToolHive are at ${control.url}`);
  await untilAborted(signal);
}

function listeningPort(flags: FlagValues): number {
  const { MCP_PORT: fromEnvironment = '' } = process.env;
  if (flags.isGiven('port') || fromEnvironment === '') return portFrom(flags);
  return portOf(Number(fromEnvironment), 'MCP_PORT');
}
