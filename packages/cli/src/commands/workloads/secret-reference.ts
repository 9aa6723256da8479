import { invalid } from '@toolhive/contract/failure';

/** Parses a value of `--secret`. Throws `invalid`. */
export function parseSecret(reference: string): { name: string; target: string } {
  const [, name, target] = /^([^,]+),target=(.+)$/.exec(reference) ?? [];
  if (name !== undefined && target !== undefined) return { name, target };
  // The error does not quote the text, because it may be the secret itself.
  throw invalid('--secret takes NAME,target=VARIABLE', { hint: 'specify a stored secret, not its value' });
}
