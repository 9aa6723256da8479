import { conflict, invalid, messageOf, unavailable } from '@toolhive/contract/failure';
import { SettingValue } from '@toolhive/contract/setting';
import type { SettingName } from '@toolhive/contract/setting';
import { settingCommand, settings } from '@toolhive/contract/settings';
import type { SettingDefinition } from '@toolhive/contract/settings';
import type { PrepareOptions } from '@toolhive/runtime/runtime';
import type { Settings, SettingsFile } from './settings-file.ts';
import { readCertificates, readers } from './kinds.ts';

/** The value of a setting. Undefined if it is not set. Throws `conflict` for an invalid value in the file. */
export function valueOf(file: Settings, name: SettingName): SettingValue | undefined {
  try {
    return readSetting(file, name);
  } catch (cause) {
    // The caller may have asked for something else, so the message names the setting.
    throw conflict(`the setting ${name} in config.yaml cannot be used: ${messageOf(cause)}`, {
      hint: `fix it there, or remove it with thv ${settingCommand('unset', name)}`,
      cause,
    });
  }
}

/** The same. Throws `invalid` instead. */
export function readSetting(file: Settings, name: SettingName): SettingValue | undefined {
  const raw = rawValue(file, name);
  if (raw === undefined) return undefined;
  const { success, data } = SettingValue.safeParse(raw);
  if (!success) throw invalid(`${JSON.stringify(raw).slice(0, 200)} is not a valid value`);
  return readers[definitionOf(name).kind](data);
}

/**
 * The certificate authorities that are trusted while packages are prepared, as PEM, in addition to the system's.
 * Throws `unavailable` if the file is no longer valid.
 */
export async function configuredCertificates(file: Settings): Promise<string | undefined> {
  const path = valueOf(file, 'ca-cert');
  if (path === undefined) return undefined;
  return readCertificates(String(path)).catch((cause: unknown) => {
    throw unavailable(`the file in the setting ca-cert cannot be used: ${messageOf(cause)}`, {
      hint: 'choose another file with thv config set-ca-cert, or run thv config unset-ca-cert',
      cause,
    });
  });
}

/** The defaults for every package installation, unless a request overrides them. */
export function installationSettings(
  file: Pick<SettingsFile, 'current'>,
): Required<Pick<PrepareOptions, 'trusted' | 'allowedSources'>> {
  return {
    trusted: () => configuredCertificates(file.current),
    allowedSources: () => [valueOf(file.current, 'package-sources') ?? []].flat().map(String),
  };
}

/** What the file contains for a setting. Undefined if that is nothing. */
export function rawValue(file: Settings, name: SettingName): unknown {
  // A registry has one of two kinds, each with a separate key.
  if (name === 'registry') return file.registry_url || file.local_registry_path || undefined;
  const raw = definitionOf(name).at.reduce<unknown>(
    (part, key) => (part as Record<string, unknown> | null | undefined)?.[key],
    file,
  );
  // The original writes empty values for settings that are not set.
  const isNothing = raw === null || raw === '' || (Array.isArray(raw) && raw.length === 0);
  return isNothing ? undefined : raw;
}

/** The declaration of a setting. */
export function definitionOf(name: SettingName): SettingDefinition {
  const definition = settings.find((candidate) => candidate.name === name);
  if (definition === undefined) throw new Error(`setting ${name} not found`);
  return definition;
}
