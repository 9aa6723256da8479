import { invalid } from '@toolhive/contract/failure';
import type { CommandCall } from '../../command.ts';
import { writeOwnFile } from './own-file.ts';
import { sourceOf } from './source.ts';

/** Builds a container image from a package, or shows the Dockerfile. */
export async function run({
  arguments: [word = ''],
  flags,
  out,
  client,
  signal,
}: CommandCall): Promise<void> {
  const found = sourceOf(word);
  if ('url' in found)
    throw invalid(`${word} is not a package`, { hint: 'use npx://NAME, uvx://NAME, or go://NAME' });
  const source = found.image;
  const daemon = await client();
  const file = flags.text('output');
  if (file !== undefined || flags.has('dry-run')) {
    const { dockerfile } = await daemon.writeRecipe({ body: { source } }, { signal });
    if (file === undefined) return out.result({ dockerfile }, dockerfile.trimEnd());
    const written = await writeOwnFile(file, dockerfile);
    return out.result({ file: written }, `wrote the Dockerfile to ${written}`);
  }
  const body = { source, tag: flags.text('tag') };
  const { image } = await daemon.buildImage({ body }, { signal, onProgress: out.progress });
  out.result({ image }, image);
  out.note(`run thv run ${image} to run it`);
}
