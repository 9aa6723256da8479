import { createRequire } from 'node:module';
import { keyringHelper, keyringHelperWord } from '@toolhive/secrets/keyring-helper';
import { gatewayWord } from '@toolhive/runtime/gateway-command';
import { main as runCommand } from '@toolhive/cli/main';

/** The entry point of the single executable, which is also its own helper. */
export async function main(words: readonly string[]): Promise<void> {
  const [first] = words;
  if (first === keyringHelperWord) return keyringHelper(createRequire(process.execPath));
  if (first !== gatewayWord) return runCommand(words);
  // Imported only here: commands do not need it, and it takes a fifth of their time to load.
  const { serveGateways } = await import('@toolhive/runtime/gateway-program');
  return serveGateways();
}
