import { conflict, invalid, messageOf, unavailable } from '@toolhive/contract/failure';
import { SettingValue } from '@toolhive/contract/setting';
import type { Setting, SettingName } from '@toolhive/contract/setting';
import { settingCommand, settings } from '@toolhive/contract/settings';
import type { SettingDefinition } from '@toolhive/contract/settings';
import type { Core } from '../core.ts';
import type { PrepareOptions } from '@toolhive/runtime/runtime';
import type { Settings, SettingsFile } from '../state/settings.ts';
import { readCertificates, readers } from './kinds.ts';

/** Every setting as it stands. */
export function listSettings(core: Core): Setting[] {
  return settings.map(({ name }) => getSetting(core, name));
}

/** One setting as it stands. */
export function getSetting({ settings: file }: Core, name: SettingName): Setting {
  const { summary } = definitionOf(name);
  try {
    return { name, summary, value: read(file.current, name) ?? null };
  } catch (thrown) {
    return { name, summary, value: null, problem: messageOf(thrown) };
  }
}

/** Changes a setting, as far as the value makes sense. */
export async function changeSetting(
  core: Core,
  name: SettingName,
  given: SettingValue,
  signal: AbortSignal,
): Promise<Setting> {
  const { kind, at } = definitionOf(name);
  const value = readers[kind](given);
  if (kind === 'registry') await core.registry.update(registrySource(String(value)), signal);
  else {
    if (kind === 'certificate') await readCertificates(String(value));
    await core.settings.change([at, value]);
    core.events.emit({ type: 'setting.changed', name });
  }
  return getSetting(core, name);
}

/** Takes a setting back, whether it is set or not. */
export async function unsetSetting(core: Core, name: SettingName, signal: AbortSignal): Promise<void> {
  const { kind, at } = definitionOf(name);
  if (kind === 'registry') {
    await core.registry.update({}, signal);
    return;
  }
  if (rawValue(core.settings.current, name) === undefined) return;
  await core.settings.change([at, undefined]);
  core.events.emit({ type: 'setting.changed', name });
}

/** What a setting is; undefined when it is not set. Throws `conflict` for what a person wrote and nobody can use. */
export function valueOf(file: Settings, name: SettingName): SettingValue | undefined {
  try {
    return read(file, name);
  } catch (cause) {
    // Whoever reads this may have asked for something else.
    throw conflict(`the setting ${name} in config.yaml cannot be used: ${messageOf(cause)}`, {
      hint: `mend it there, or take it back with \`thv ${settingCommand('unset', name)}\``,
      cause,
    });
  }
}

/** The same for whoever knows which setting it is. Throws `invalid`. */
function read(file: Settings, name: SettingName): SettingValue | undefined {
  const raw = rawValue(file, name);
  if (raw === undefined) return undefined;
  const { success, data } = SettingValue.safeParse(raw);
  if (!success) throw invalid(`${JSON.stringify(raw).slice(0, 200)} is no value for it`);
  return readers[definitionOf(name).kind](data);
}

/**
 * The certificate authorities that are trusted while packages are made ready, as PEM, beside those of the system.
 * Throws `unavailable` when the file is not what it was.
 */
export async function configuredCertificates(file: Settings): Promise<string | undefined> {
  const path = valueOf(file, 'ca-cert');
  if (path === undefined) return undefined;
  return readCertificates(String(path)).catch((cause: unknown) => {
    throw unavailable(`the setting ca-cert names what cannot be used: ${messageOf(cause)}`, {
      hint: '`thv config set-ca-cert` names another file, `thv config unset-ca-cert` none',
      cause,
    });
  });
}

/** What every installation of a package is told, unless a request says otherwise. */
export function installationSettings(
  file: Pick<SettingsFile, 'current'>,
): Required<Pick<PrepareOptions, 'trusted' | 'allowedSources'>> {
  return {
    trusted: () => configuredCertificates(file.current),
    allowedSources: () => [valueOf(file.current, 'package-sources') ?? []].flat().map(String),
  };
}

function rawValue(file: Settings, name: SettingName): unknown {
  // A registry is one of two things, each with a key of its own.
  if (name === 'registry') return file.registry_url || file.local_registry_path || undefined;
  const raw = definitionOf(name).at.reduce<unknown>(
    (part, key) => (part as Record<string, unknown> | null | undefined)?.[key],
    file,
  );
  // The original writes what is not set as nothing.
  const isNothing = raw === null || raw === '' || (Array.isArray(raw) && raw.length === 0);
  return isNothing ? undefined : raw;
}

function definitionOf(name: SettingName): SettingDefinition {
  const definition = settings.find((candidate) => candidate.name === name);
  if (definition === undefined) throw new Error(`there is no setting ${name}`);
  return definition;
}

function registrySource(value: string): { url: string } | { local_path: string } {
  return /^https?:\/\//i.test(value) ? { url: value } : { local_path: value };
}
