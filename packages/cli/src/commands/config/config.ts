import { settingCommand, settings } from '@toolhive/contract/settings';
import type { SettingDefinition, SettingKind } from '@toolhive/contract/settings';
import type { Argument, Command, Flag } from '../../command.ts';

type Name = (typeof settings)[number]['name'];

/** What is typed for a value, by its kind. */
const values: Record<SettingKind, Pick<Argument, 'name' | 'description' | 'completes'>> = {
  boolean: { name: 'enabled', description: 'true or false' },
  rate: { name: 'rate', description: 'A number from 0.0 to 1.0' },
  endpoint: { name: 'endpoint', description: 'HOST:PORT, without a scheme' },
  variables: { name: 'names', description: 'Names, separated by commas' },
  certificate: { name: 'path', description: 'A file with PEM certificates', completes: 'file' },
  sources: { name: 'sources', description: 'HOST/PATH prefixes, separated by commas' },
  network: { name: 'network', description: 'public, none, or ask' },
  hours: { name: 'hours', description: 'A number of hours' },
  registry: {
    name: 'url-or-path',
    description: 'The https URL of a registry, or a JSON file',
    completes: 'file',
  },
};

const allowPrivateIp: Flag = {
  name: 'allow-private-ip',
  shorthand: 'p',
  kind: 'boolean',
  description: 'Allow plain http and an address in a private network',
};

/** What a setting is, set or taken back: a command for each setting of the table. */
export const configCommands: readonly Command[] = settings.flatMap((setting) => [
  readCommand(setting),
  changeCommand(setting),
  unsetCommand(setting),
]);

function readCommand({ name, summary }: Setting): Command {
  const path = settingCommand('get', name);
  return {
    path,
    summary: `Show ${summary}`,
    examples: [`thv ${path}`],
    load: async () => {
      const { tellSetting } = await import('./settings.ts');
      return { run: (call) => tellSetting(call, name) };
    },
  };
}

function changeCommand({ name, kind, summary, example }: Setting): Command {
  const path = settingCommand('set', name);
  const isRegistry = kind === 'registry';
  return {
    path,
    summary: `Set ${summary}`,
    arguments: [{ ...values[kind], required: true }],
    flags: isRegistry ? [allowPrivateIp] : [],
    examples: [`thv ${path} ${example}`],
    load: async () => {
      if (isRegistry) return import('./set-registry.ts');
      const { setSetting } = await import('./settings.ts');
      return { run: (call) => setSetting(call, { name, isPath: kind === 'certificate' }) };
    },
  };
}

function unsetCommand({ name, summary }: Setting): Command {
  const path = settingCommand('unset', name);
  return {
    path,
    summary: `Unset ${summary}`,
    examples: [`thv ${path}`],
    load: async () => {
      const { unsetSetting } = await import('./settings.ts');
      return { run: (call) => unsetSetting(call, name) };
    },
  };
}

type Setting = SettingDefinition & { name: Name };
