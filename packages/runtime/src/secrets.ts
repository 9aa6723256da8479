import { invalid } from '@toolhive/contract/failure';
import type { Launch } from './runtime.ts';

/** Refuses secrets that could not be handed over everywhere in the same way. No value is repeated. */
export function requireSecrets({ secrets }: Pick<Launch, 'secrets'>): void {
  for (const [name, value] of Object.entries(secrets)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      throw invalid(`${JSON.stringify(name)} is not a valid variable name for a secret`, {
        hint: 'use letters, digits and underscores',
      });
    }
    if (value.includes('\0')) throw invalid(`the secret for ${name} contains a NUL character`);
  }
}
