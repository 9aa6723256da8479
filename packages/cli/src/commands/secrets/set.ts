import { ThvError, invalid, unsupported } from '@toolhive/contract/failure';
import type { CommandCall } from '../../command.ts';
import { canAsk } from '../../prompt.ts';
import { findProvider, setUpForFirst } from './setup.ts';
import { readHidden } from './typed.ts';

/** Stores a secret, in place of one of the same name. */
export async function run({ arguments: [key = ''], out, client, signal }: CommandCall): Promise<void> {
  const daemon = await client();
  // Checked first, so that users do not type a secret in vain.
  const present = await findProvider(daemon, signal);
  if (present === undefined && canAsk()) await setUpForFirst(daemon, { out, signal });
  if (present?.capabilities.can_write === false)
    throw unsupported(`secrets cannot be stored with the provider ${present.provider_type}`);
  const value = await readHidden(`The value of ${key}:`, { signal });
  if (value === '') throw invalid('a secret needs a value');
  if (present === undefined && !canAsk()) await setUpForFirst(daemon, { out, signal });
  try {
    await daemon.createSecret({ body: { key, value } }, { signal });
  } catch (thrown) {
    if (!(thrown instanceof ThvError) || thrown.kind !== 'conflict') throw thrown;
    await daemon.updateSecret({ params: { key }, body: { value } }, { signal });
  }
  out.result({ key }, `stored the secret ${key}`);
}
