import { ThvError, invalid } from '@toolhive/contract/failure';
import type { CommandCall } from '../../command.ts';
import { oneLine } from '../../out.ts';
import { canAsk, confirm } from '../../prompt.ts';
import { upgradeLines } from './upgrade-text.ts';

/** Runs the newest version of a server after confirmation. */
export async function run({
  arguments: [name = ''],
  flags,
  out,
  client,
  signal,
}: CommandCall): Promise<void> {
  const daemon = await client();
  out.progress(`looking up ${name}`);
  const update = await daemon.getWorkloadUpdate({ params: { name }, query: { changes: 'true' } }, { signal });
  if (update.newest === undefined) {
    throw new ThvError('unsupported', `${name} was not upgraded: ${update.reason ?? 'no version was found'}`);
  }
  if (!update.outdated) {
    return out.result(
      { ...update, upgraded: false },
      `${name} runs the newest version, ${oneLine(update.newest)}.`,
    );
  }
  for (const line of upgradeLines(update)) out.note(line);
  if (!flags.has('yes')) {
    if (!canAsk()) throw invalid(`${name} was not upgraded`, { hint: 'add --yes to confirm' });
    await confirm(`Upgrade ${name}?`, { signal });
  }
  const body = { version: update.newest };
  await daemon.upgradeWorkload({ params: { name }, body }, { signal, onProgress: out.progress });
  out.result({ ...update, upgraded: true }, `${name} runs version ${oneLine(update.newest)}.`);
  out.note(`An upgrade approves no changed tools. To review them after their next use: thv pin show ${name}`);
}
