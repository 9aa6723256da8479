import { ThvError, conflict, invalid, messageOf, notFound, unsupported } from '@toolhive/contract/failure';
import { advice, fixes } from '@toolhive/contract/fixes';
import { SerialQueue } from '@toolhive/contract/serial-queue';
import { SecretName, SecretValue, SecretsProviderType } from '@toolhive/contract/secrets';
import type {
  CreatedSecret,
  SecretKey,
  SecretsCapabilities,
  SecretsProvider as SecretsDescription,
  SetupSecrets,
  UpdatedSecret,
} from '@toolhive/contract/secrets';
import type { Logger } from 'pino';
import type { SettingsFile } from '@toolhive/state/settings-file';
import { EncryptedSecrets } from './encrypted.ts';
import type { SetupOutcome, Vault } from './encrypted.ts';
import { environmentFallback, environmentSecrets } from './environment.ts';
import { systemKeyring } from './keyring.ts';
import type { Keyring } from './keyring.ts';
import { onePasswordSecrets } from './onepassword.ts';
import type { OnePasswordOptions } from './onepassword.ts';
import { capabilitiesOf, noSecrets } from './provider.ts';
import type { SecretsProvider } from './provider.ts';
import type { SecretReference } from './reference.ts';
import type { ScryptCost } from './sealed-file.ts';

export interface SecretsOptions {
  settings: SettingsFile;
  /** Where the encrypted file is. */
  path: string;
  env: NodeJS.ProcessEnv;
  version: string;
  log: Logger;
  /** Called with the changed names, never with values. */
  onChange?: (change: SecretsChange) => void;
  /** Called with each value that is read or stored, for components that must never quote it. */
  onValue?: (value: string) => void;
  /** Replaces the keyring of this system, in tests. */
  keyring?: Keyring;
  /** Replaces 1Password, in tests. */
  connectOnePassword?: OnePasswordOptions['connect'];
  /** Makes passphrases cheap, in tests. */
  cost?: ScryptCost;
}

export type SecretsChange = { kind: 'set' | 'removed'; name: string } | { kind: 'provider' };

/**
 * The daemon's secrets: the active provider and its operations. No error, log, or list ever contains a value, a
 * password, or a token.
 */
export class Secrets implements AsyncDisposable {
  readonly #options: SecretsOptions;
  readonly #encrypted: EncryptedSecrets;
  readonly #providers: Record<SecretsProviderType, SecretsProvider>;
  readonly #changes = new SerialQueue();

  constructor(options: SecretsOptions) {
    const { env, version, path, cost, connectOnePassword: connect, log } = options;
    const report = (reason: string): void => log.debug({ reason }, 'no keyring');
    const keyring = options.keyring ?? systemKeyring({ env, report });
    this.#options = options;
    this.#encrypted = new EncryptedSecrets({ path, env, keyring, ...(cost && { cost }) });
    this.#providers = {
      encrypted: this.#encrypted,
      '1password': onePasswordSecrets({ env, version, ...(connect && { connect }) }),
      none: noSecrets,
      environment: environmentSecrets(env),
    };
  }

  /** Throws `not-found` before the first setup. */
  async describe(): Promise<SecretsDescription> {
    const { type } = this.#active();
    const locked = type === 'encrypted' && (await this.#encrypted.isLocked());
    const has_password = await this.#encrypted.hasPassword();
    return { name: 'default', provider_type: type, capabilities: capabilitiesOf[type], locked, has_password };
  }

  /** Sets up the encrypted store with a generated password, unless a provider is set up. Reports what happened. */
  async setUpIfNeeded(report: (message: string) => void): Promise<void> {
    const isSetUp = await this.describe().then(
      () => true,
      (thrown: unknown) => {
        if (thrown instanceof ThvError && thrown.kind === 'not-found') return false;
        throw thrown;
      },
    );
    if (!isSetUp) report((await this.setup({ provider_type: 'encrypted', generate_password: true })).message);
  }

  /**
   * Tests a provider and activates it. Repeating the setup unlocks the encrypted file, changes its password, or
   * switches the provider. Stored secrets stay.
   */
  setup({ provider_type, password, new_password, generate_password }: SetupSecrets): Promise<SecretsSetup> {
    return this.#changes.run(async () => {
      const { settings, log, onChange } = this.#options;
      const done = await this.#tryOut(provider_type, {
        password,
        newPassword: new_password,
        generate: generate_password,
      });
      await settings.change(
        [['secrets', 'provider_type'], provider_type],
        [['secrets', 'setup_completed'], true],
      );
      log.info({ provider: provider_type }, 'secrets were set up');
      onChange?.({ kind: 'provider' });
      const override = this.#override();
      const unlessOverridden =
        override === undefined || override === provider_type
          ? ''
          : `, but TOOLHIVE_SECRETS_PROVIDER makes the daemon use ${override}`;
      return { provider_type, message: `${done}${unlessOverridden}` };
    });
  }

  async list(): Promise<SecretKey[]> {
    const provider = this.#active();
    this.#requireThat(provider, 'can_list', 'be listed');
    return provider.list();
  }

  create(key: string, value: string): Promise<CreatedSecret> {
    return this.#changes.run(async () => {
      const secret = parseSecret(key, value);
      const provider = this.#active();
      this.#requireThat(provider, 'can_write', 'be stored');
      if (await this.#exists(provider, secret.name)) throw conflict(`secret ${secret.name} already exists`);
      await this.#set(provider, secret);
      return { key, message: `secret ${key} is stored` };
    });
  }

  /** One that only the environment has counts as there: from now on the stored value is used. */
  update(key: string, value: string): Promise<UpdatedSecret> {
    return this.#changes.run(async () => {
      const secret = parseSecret(key, value);
      const provider = this.#active();
      this.#requireThat(provider, 'can_write', 'be stored');
      if (!(await this.#exists(provider, secret.name))) throw secretNotFound(secret.name);
      await this.#set(provider, secret);
      return { key, message: `secret ${key} has a new value` };
    });
  }

  /** Stores a secret that belongs to another object, whether or not it exists. */
  put(key: string, value: string): Promise<void> {
    return this.#changes.run(async () => {
      const secret = parseSecret(key, value);
      const provider = this.#active();
      this.#requireThat(provider, 'can_write', 'be stored');
      await this.#set(provider, secret);
    });
  }

  remove(key: string): Promise<void> {
    return this.#changes.run(async () => {
      const provider = this.#active();
      this.#requireThat(provider, 'can_delete', 'be removed');
      if (!(await provider.delete(key))) throw secretNotFound(key);
      this.#options.onChange?.({ kind: 'removed', name: key });
    });
  }

  /** Deletes the encrypted file's key from the system's keyring. Afterwards only the password opens the file. */
  forgetKey(): Promise<void> {
    return this.#changes.run(async () => {
      const { type } = this.#active();
      if (type !== 'encrypted') throw unsupported(`secrets of ${type} have no key in the keyring`);
      await this.#encrypted.forgetKey();
      this.#options.onChange?.({ kind: 'provider' });
    });
  }

  /** The value that a server is to be given. Throws `not-found` when there is none. */
  resolve({ name }: SecretReference): Promise<string> {
    return this.read(name);
  }

  /** The same, by its name, for its owner. */
  async read(name: string): Promise<string> {
    const value = (await this.#active().get(name)) ?? this.#fallback(name);
    if (value === undefined) throw secretNotFound(name);
    this.#options.onValue?.(value);
    return value;
  }

  /** The store for the daemon's own data. Undefined unless the encrypted file is active. */
  get vault(): Vault | undefined {
    const isSetUp = this.#options.settings.current.secrets?.setup_completed === true;
    return isSetUp && this.#active().type === 'encrypted' ? this.#encrypted.vault : undefined;
  }

  /** Returns when everything that was asked for is on disk. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#changes.idle();
  }

  #active(): SecretsProvider {
    const { secrets } = this.#options.settings.current;
    if (secrets?.setup_completed !== true) {
      throw notFound('secrets are not set up', advice('run thv secret setup', fixes.setUpSecrets));
    }
    return this.#providers[this.#override() ?? parseType(secrets.provider_type ?? '', 'the settings')];
  }

  #override(): SecretsProviderType | undefined {
    const type = this.#options.env['TOOLHIVE_SECRETS_PROVIDER'];
    return type ? parseType(type, 'TOOLHIVE_SECRETS_PROVIDER') : undefined;
  }

  async #tryOut(type: SecretsProviderType, { password, newPassword, generate }: Passwords): Promise<string> {
    if (type === 'encrypted')
      return encryptedMessages[await this.#encrypted.setup(password, newPassword, { generate })];
    if (password !== undefined || newPassword !== undefined) throw invalid(`${type} does not use a password`);
    await this.#providers[type].list();
    return otherMessages[type];
  }

  async #exists(provider: SecretsProvider, name: string): Promise<boolean> {
    return ((await provider.get(name)) ?? this.#fallback(name)) !== undefined;
  }

  #fallback(name: string): string | undefined {
    return environmentFallback(this.#options.env, name);
  }

  async #set(provider: SecretsProvider, { name, value }: { name: string; value: string }): Promise<void> {
    this.#options.onValue?.(value);
    await provider.set(name, value);
    this.#options.onChange?.({ kind: 'set', name });
  }

  #requireThat(provider: SecretsProvider, capability: keyof SecretsCapabilities, deed: string): void {
    if (capabilitiesOf[provider.type][capability]) return;
    throw unsupported(`secrets cannot ${deed} with the provider ${provider.type}`);
  }
}

interface Passwords {
  password: string | undefined;
  newPassword: string | undefined;
  generate: boolean | undefined;
}

/** The result of a setup. */
export interface SecretsSetup {
  provider_type: SecretsProviderType;
  message: string;
}

const encryptedMessages: Record<SetupOutcome, string> = {
  created: 'secrets are stored in an encrypted file',
  generated:
    'secrets are stored in an encrypted file. This system has no keyring, so ToolHive generated the password and stored it beside the file, readable by you alone. To use a password of your own, run thv secret setup --change-password',
  imported: 'the secrets of the original ToolHive were imported into an encrypted file',
  kept: 'the encrypted file is unlocked, with all stored secrets',
  'password changed': 'the encrypted file has a new password, and all stored secrets remain',
};

const otherMessages: Record<Exclude<SecretsProviderType, 'encrypted'>, string> = {
  '1password': 'secrets are read from 1Password',
  none: 'no secrets are stored',
  environment: "ToolHive reads secrets from the daemon's environment",
};

/** The original called the encrypted file `basic` once. */
function parseType(type: string, where: string): SecretsProviderType {
  const known = SecretsProviderType.safeParse(type === 'basic' ? 'encrypted' : type);
  if (known.success) return known.data;
  throw invalid(`unknown secrets provider ${JSON.stringify(type)} in ${where}`, {
    hint: `use ${SecretsProviderType.options.join(', ')}`,
  });
}

function parseSecret(key: string, value: string): { name: string; value: string } {
  for (const parsed of [SecretName.safeParse(key), SecretValue.safeParse(value)]) {
    if (!parsed.success) throw invalid(parsed.error.issues[0]?.message ?? messageOf(parsed.error));
  }
  return { name: key, value };
}

function secretNotFound(name: string): ReturnType<typeof notFound> {
  return notFound(
    `secret ${name} not found`,
    advice('run thv secret list to see all secrets', fixes.showSecrets),
  );
}
