import { conflict, messageOf } from '@toolhive/contract/failure';
import { SerialQueue } from '@toolhive/contract/serial-queue';
import type { Logger } from 'pino';
import { parseDocument } from 'yaml';
import type { Document } from 'yaml';
import * as z from 'zod';
import { readIfThere, writeWhole } from '../files.ts';
import { setAside } from '../set-aside.ts';

/** What a person can set for the whole daemon. Other keys belong to other versions and pass through untouched. */
const Settings = z.looseObject({
  secrets: z
    .looseObject({ provider_type: z.string().optional(), setup_completed: z.boolean().optional() })
    .nullish(),
  clients: z.looseObject({ registered_clients: z.array(z.string()).nullish() }).nullish(),
  registry_url: z.string().nullish(),
  local_registry_path: z.string().nullish(),
  allow_private_registry_ip: z.boolean().nullish(),
  default_group_migration: z.boolean().nullish(),
  ca_certificate_path: z.string().nullish(),
  /** Parsed individually, because an invalid setting must not disable the others. */
  otel: z.looseObject({}).nullish(),
});
export type Settings = z.infer<typeof Settings>;

/** One change: the key's path in the file, and its value. `undefined` removes the key. */
export type SettingChange = readonly [path: readonly string[], value: unknown];

/**
 * `config.yaml`. Reading costs nothing. Every change reads the file again and preserves comments, order, and unknown
 * keys.
 */
export class SettingsFile {
  readonly #path: string;
  #settings: Settings;
  #loss: string | undefined;
  readonly #changes = new SerialQueue();

  private constructor(path: string, settings: Settings, loss?: string) {
    this.#path = path;
    this.#settings = settings;
    this.#loss = loss;
  }

  /** A file that cannot be read is set aside, and the daemon uses its defaults. */
  static async open(path: string, log: Logger): Promise<SettingsFile> {
    try {
      const { settings, isEmpty } = await read(path);
      // A program that was interrupted, or a full disk, leaves an empty file.
      const loss = isEmpty ? `${path} is empty, so all settings have their defaults` : undefined;
      if (loss !== undefined) log.warn({ path }, 'the settings file is empty');
      return new SettingsFile(path, settings, loss);
    } catch (error) {
      const kept = await setAside(path, error, log);
      const loss = `${path} could not be read and is now ${kept}, so all settings have their defaults: ${messageOf(error)}`;
      return new SettingsFile(path, {}, loss);
    }
  }

  get current(): Settings {
    return this.#settings;
  }

  /** Why the settings of the user may be lost. Undefined if they are not, or after a change of a setting. */
  get loss(): string | undefined {
    return this.#loss;
  }

  /** Changes several keys, or none. Throws `conflict` if the file has become invalid in the meantime. */
  async change(...changes: readonly SettingChange[]): Promise<void> {
    await this.#changes.run(() => this.#change(changes));
  }

  async #change(changes: readonly SettingChange[]): Promise<void> {
    const { document } = await read(this.#path).catch((cause: unknown) => {
      throw conflict(`${this.#path} cannot be read: ${messageOf(cause)}`, {
        hint: 'fix the file first',
        cause,
      });
    });
    for (const [path, value] of changes) {
      if (value !== undefined) setIn(document, path, value);
      else if (document.hasIn(path)) document.deleteIn(path);
    }
    const settings = Settings.parse(document.toJS() ?? {});
    await writeWhole(this.#path, document.toString());
    this.#settings = settings;
    this.#loss = undefined;
  }
}

/** A parent key may exist without content. */
function setIn(document: Document, path: readonly string[], value: unknown): void {
  const above = path.slice(0, -1);
  if (above.length > 0 && document.getIn(above) === null) document.deleteIn(above);
  document.setIn(path, value);
}

async function read(path: string): Promise<{ document: Document; settings: Settings; isEmpty: boolean }> {
  const text = await readIfThere(path);
  const isEmpty = text?.trim() === '';
  const document = parseDocument(text ?? '');
  const [error] = document.errors;
  if (error !== undefined) throw error;
  const parsed = Settings.safeParse(document.toJS() ?? {});
  if (parsed.success) return { document, settings: parsed.data, isEmpty };
  const [issue] = parsed.error.issues;
  throw new Error(`${issue?.path.join('.') || 'the file'}: ${issue?.message ?? 'not a mapping'}`);
}
