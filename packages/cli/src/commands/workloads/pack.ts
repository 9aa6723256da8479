import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { packBundle } from '@toolhive/bundles/pack';
import { invalid, notFound } from '@toolhive/contract/failure';
import { printable } from '@toolhive/contract/printable';
import type { CommandCall } from '../../command.ts';
import { expanded } from './source.ts';

/** Packs a directory into a bundle. Needs no daemon. */
export async function run({ arguments: [word = ''], flags, out }: CommandCall): Promise<void> {
  const directory = resolve(expanded(word));
  const found = await stat(directory).catch(() => undefined);
  if (found === undefined) throw notFound(`${directory} not found`, { hint: 'check the path' });
  if (!found.isDirectory())
    throw invalid(`${directory} is not a directory`, { hint: 'name the directory with the manifest.json' });
  const file = resolve(expanded(flags.text('output') ?? `${basename(directory)}.mcpb`));
  const { manifest, files, omitted, notes } = await packBundle(directory, file);
  const { name, version } = manifest;
  const about = `packed ${files.length} files of ${printable(name)} ${printable(version)} into ${file}`;
  out.result({ file, name, version, files, omitted }, about);
  for (const note of notes) out.note(`note: ${printable(note)}`);
}
