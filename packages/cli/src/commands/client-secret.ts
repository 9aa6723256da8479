import { invalid } from '@toolhive/contract/failure';
import type { FlagValues } from '../command.ts';
import { readText } from '../read-text.ts';

/** The flags for an OAuth client secret, by the request field that receives its reference. */
export const clientSecretFlags = {
  oauth_config: ['remote-auth-client-secret', 'remote-auth-client-secret-file'],
  token_exchange: ['token-exchange-client-secret', 'token-exchange-client-secret-file'],
} as const;

/** The value of one of the two flags. The command line has precedence. */
export async function clientSecretFrom(
  flags: FlagValues,
  part: keyof typeof clientSecretFlags,
): Promise<string | undefined> {
  const [valueFlag, fileFlag] = clientSecretFlags[part];
  const file = flags.text(fileFlag);
  const value = flags.text(valueFlag);
  if (value !== undefined || file === undefined) return value;
  const text = (await readText(file, `--${fileFlag}`)).trim();
  if (text === '') throw invalid(`invalid --${fileFlag}: ${file} is empty`);
  return text;
}
