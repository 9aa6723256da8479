import { messageOf } from '@toolhive/contract/failure';
import type { Setting, SettingName, SettingValue } from '@toolhive/contract/setting';
import { settingChoices, settings } from '@toolhive/contract/settings';
import type { StateWing } from '../wings/state.ts';
import type { SupplyWing } from '../wings/supply.ts';
import { readCertificates, readers } from '@toolhive/state/kinds';
import { definitionOf, rawValue, readSetting } from '@toolhive/state/values';

/** Every setting with its current value. */
export function listSettings(core: StateWing): Setting[] {
  return settings.map(({ name }) => getSetting(core, name));
}

/** One setting with its current value. */
export function getSetting({ settings: file }: StateWing, name: SettingName): Setting {
  const { title, kind, summary } = definitionOf(name);
  const choices = settingChoices[kind];
  const about = { name, title, ...(choices === undefined ? {} : { choices: [...choices] }), summary };
  try {
    return { ...about, value: readSetting(file.current, name) ?? null };
  } catch (thrown) {
    return { ...about, value: null, problem: messageOf(thrown) };
  }
}

/** Changes a setting, as far as the value makes sense. */
export async function changeSetting(
  core: StateWing & SupplyWing,
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

/** Removes a setting's value, if it has one. */
export async function unsetSetting(
  core: StateWing & SupplyWing,
  name: SettingName,
  signal: AbortSignal,
): Promise<void> {
  const { kind, at } = definitionOf(name);
  if (kind === 'registry') {
    await core.registry.update({}, signal);
    return;
  }
  if (rawValue(core.settings.current, name) === undefined) return;
  await core.settings.change([at, undefined]);
  core.events.emit({ type: 'setting.changed', name });
}

function registrySource(value: string): { url: string } | { local_path: string } {
  return /^https?:\/\//i.test(value) ? { url: value } : { local_path: value };
}
