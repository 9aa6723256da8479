import { ThvError, invalid } from '@toolhive/contract/failure';
import type { Client } from '@toolhive/contract/client';
import { shortestPassword } from '@toolhive/contract/secrets';
import type { SecretsProvider } from '@toolhive/contract/secrets';
import type { CommandCall } from '../../command.ts';
import { ask, canAsk } from '../../prompt.ts';
import { providerTypeOf } from './provider-type.ts';
import { noTerminal, readHidden } from './typed.ts';

/** Sets up where secrets are kept. */
export async function run({ flags, out, client, signal }: CommandCall): Promise<void> {
  const isChange = flags.has('change-password');
  const named = flags.text('provider') ?? (isChange ? preset : await askForProvider({ out, signal }));
  const type = providerTypeOf(named);
  if (isChange && type !== preset) throw invalid(`${type} has no password`);
  const daemon = await client();
  const passwords = type === preset ? await passwordsFor(daemon, { isChange, signal }) : {};
  const { message } = await daemon.setupSecrets({ body: { provider_type: type, ...passwords } }, { signal });
  out.result(await daemon.getSecretsProvider({}, { signal }), message);
}

const preset = 'encrypted';

/**
 * Sets up the encrypted file for the first secret: with the keyring of the system, or else with a password. Without a
 * terminal, ToolHive generates the password.
 */
export async function setUpForFirst(
  daemon: Client,
  { out, signal }: Pick<CommandCall, 'out' | 'signal'>,
): Promise<void> {
  const setUp = (more: { password?: string; generate_password?: boolean }): Promise<{ message: string }> =>
    daemon.setupSecrets({ body: { provider_type: preset, ...more } }, { signal });
  const { message } = await setUp({ generate_password: !canAsk() }).catch(async (thrown: unknown) => {
    const needsPassword = thrown instanceof ThvError && thrown.kind === 'invalid';
    if (!needsPassword || !canAsk()) throw thrown;
    return setUp({ password: await newPassword({ signal }) });
  });
  out.note(message);
}

/** Stores a secret that does not exist. Before the first one, sets up the encrypted file. */
export async function createSecret(
  daemon: Client,
  body: { key: string; value: string },
  call: Pick<CommandCall, 'out' | 'signal'>,
): Promise<void> {
  if ((await findProvider(daemon, call.signal)) === undefined) await setUpForFirst(daemon, call);
  await daemon.createSecret({ body }, { signal: call.signal });
}

async function askForProvider({ out, signal }: Pick<CommandCall, 'out' | 'signal'>): Promise<string> {
  if (!canAsk()) {
    throw noTerminal(
      'select the provider with --provider, and write the password for encrypted secrets to standard input',
    );
  }
  out.note('encrypted    in an encrypted file on this machine');
  out.note('1password    in 1Password, with OP_SERVICE_ACCOUNT_TOKEN in the daemon environment');
  out.note('environment  in the daemon environment, as TOOLHIVE_SECRET_NAME');
  out.note('none         no secrets');
  const answer = await ask(`Where should ToolHive store secrets? [${preset}]`, { signal });
  return answer.trim() || preset;
}

/** Asks once for an existing password, because the daemon verifies it, and twice for a new one on a terminal. */
async function passwordsFor(
  daemon: Client,
  { isChange, signal }: { isChange: boolean; signal: AbortSignal },
): Promise<{ password?: string; new_password?: string }> {
  const present = await findProvider(daemon, signal);
  if (isChange) return { new_password: await newPassword({ signal }) };
  if (present?.has_password !== true) return { password: await newPassword({ signal }) };
  const password = await readHidden('Password for the secrets:', { signal });
  if (password !== '') return { password };
  throw invalid('the secrets password is missing', {
    hint: 'enter it again. To set a new password while the secrets are unlocked, run thv secret setup --change-password',
  });
}

async function newPassword({ signal }: { signal: AbortSignal }): Promise<string> {
  const password = await readHidden(
    `New password for the secrets (at least ${shortestPassword} characters):`,
    { signal },
  );
  if (password === '') {
    throw invalid('a password is missing', {
      hint: 'on a system with a keyring, thv secret provider encrypted needs no password',
    });
  }
  if (canAsk() && (await readHidden('Repeat the password:', { signal })) !== password)
    throw invalid('the passwords do not match', { hint: 'try again' });
  return password;
}

/** Describes how secrets are kept. Undefined before the first setup. */
export async function findProvider(
  daemon: Client,
  signal: AbortSignal,
): Promise<SecretsProvider | undefined> {
  try {
    return await daemon.getSecretsProvider({}, { signal });
  } catch (thrown) {
    if (thrown instanceof ThvError && thrown.kind === 'not-found') return undefined; // the first setup
    throw thrown;
  }
}
