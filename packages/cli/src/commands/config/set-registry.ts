import { resolve } from 'node:path';
import { invalid } from '@toolhive/contract/failure';
import { defaultRegistry } from '@toolhive/contract/names';
import type { CommandCall } from '../../command.ts';

/** Sets the registry source. The daemon reads the registry before accepting it. */
export async function run({
  arguments: [place = ''],
  flags,
  out,
  client,
  signal,
}: CommandCall): Promise<void> {
  if (place === '') {
    throw invalid('URL-OR-PATH is empty', {
      hint: 'run thv config unset-registry to use the built-in registry',
    });
  }
  const isUrl = /^https?:\/\//i.test(place);
  if (!isUrl && flags.has('allow-private-ip')) {
    throw invalid('--allow-private-ip applies only to URLs', { hint: 'omit it' });
  }
  const daemon = await client();
  const { message } = await daemon.updateRegistry(
    {
      params: { name: defaultRegistry },
      body: isUrl
        ? { url: place, allow_private_ip: flags.has('allow-private-ip') }
        : { local_path: withAbsolutePath(place) },
    },
    { signal },
  );
  const setting = await daemon.getSetting({ params: { name: 'registry' } }, { signal });
  out.result(setting, message);
}

/** The daemon has a different working directory. It understands `file://`. */
function withAbsolutePath(place: string): string {
  return place.startsWith('file://') ? place : resolve(place);
}
