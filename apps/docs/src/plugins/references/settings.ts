import { settingCommand, settings } from '@toolhive/contract/settings';
import { asSentence } from '@toolhive/cli/help';
import { code, table, textOf } from './markdown.ts';

/** Returns the section about the settings on the page of `thv config`. */
export function settingsSection(): string[] {
  return [
    '## Settings',
    'ToolHive stores settings in `config.yaml`. A flag of `thv run` takes precedence over the setting with the same name.',
    settingsTable(),
  ];
}

/** Returns the table of all settings with their commands, to be included in a page. */
export function settingsReference(): string {
  return `${settingsTable()}\n`;
}

function settingsTable(): string {
  return table(
    'Settings',
    ['Setting', 'Command', 'Key in `config.yaml`', 'Example', 'Meaning'],
    settings.map(({ name, at, example, summary }) => [
      code(name),
      code(`thv ${settingCommand('set', name)}`),
      code(at.join('.')),
      code(example),
      textOf(asSentence(summary.charAt(0).toUpperCase() + summary.slice(1))),
    ]),
  );
}
