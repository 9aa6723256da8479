import { settings } from '@toolhive/contract/settings';
import { asSentence } from '../../../../cli/src/help.ts';
import { code, table, textOf } from './markdown.ts';

/** What can be set for the whole daemon, and where it is kept. */
export function settingsSection(): string[] {
  return [
    '## Settings',
    'Settings are kept in `config.yaml`, beside everything else that the daemon remembers. A flag of `thv run` counts more than the setting of its name.',
    table(
      'Settings',
      ['Setting', 'Key in `config.yaml`', 'Example', 'What it says'],
      settings.map(({ name, at, example, summary }) => [
        code(name),
        code(at.join('.')),
        code(example),
        textOf(asSentence(summary.charAt(0).toUpperCase() + summary.slice(1))),
      ]),
    ),
  ];
}
