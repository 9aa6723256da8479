import { resolve } from 'node:path';
import type { SettingName, SettingValue } from '@toolhive/contract/setting';
import type { CommandCall } from '../../command.ts';
import { printable } from '@toolhive/contract/printable';

/** Prints the value of a setting. */
export async function tellSetting({ out, client, signal }: CommandCall, name: SettingName): Promise<void> {
  const daemon = await client();
  const setting = await daemon.getSetting({ params: { name } }, { signal });
  if (setting.problem !== undefined) out.note(`note: ${setting.problem}`);
  out.result(setting, setting.value === null ? notSet(name) : shown(setting.value));
}

/** Sets a setting to the value that the daemon parses from the text. */
export async function setSetting(
  { arguments: [text = ''], out, client, signal }: CommandCall,
  { name, isPath }: { name: SettingName; isPath: boolean },
): Promise<void> {
  const daemon = await client();
  // The daemon has a different working directory.
  const value = isPath ? resolve(text) : text;
  const setting = await daemon.changeSetting({ params: { name }, body: { value } }, { signal });
  out.result(setting, `${name} is ${shown(setting.value ?? '')}`);
  if (setting.problem !== undefined) out.note(`WARNING: ${setting.problem}`);
}

/** Takes a setting back. */
export async function unsetSetting({ out, client, signal }: CommandCall, name: SettingName): Promise<void> {
  const daemon = await client();
  await daemon.unsetSetting({ params: { name } }, { signal });
  out.result(await daemon.getSetting({ params: { name } }, { signal }), notSet(name));
}

function notSet(name: SettingName): string {
  return `${name} is not set`;
}

function shown(value: SettingValue): string {
  return printable(Array.isArray(value) ? value.join(',') : String(value));
}
