import { homedir } from 'node:os';
import { join } from 'node:path';
import { invalid, unavailable } from '@toolhive/contract/failure';
import { attempt, control } from './managed-service.ts';
import type { ServiceDefinition, ServiceManager } from './managed-service.ts';

const unit = 'toolhive.service';

/** The systemd instance of the current user (systemd.unit(5), systemd.service(5)). */
export function systemd(env: NodeJS.ProcessEnv): ServiceManager {
  const home = env['HOME'] ?? homedir();
  const configuration = env['XDG_CONFIG_HOME'] ?? join(home, '.config');
  return {
    name: 'systemd',
    path: join(configuration, 'systemd', 'user', unit),
    logs: `journalctl --user --unit ${unit}`,
    afterInstallation: 'to start the daemon at boot, before you log in, run loginctl enable-linger',
    format,
    async enable() {
      await systemctl('daemon-reload');
      await systemctl('enable', unit);
      await systemctl('restart', unit);
    },
    async start() {
      await systemctl('start', unit);
    },
    async disable() {
      await systemctl('disable', '--now', unit);
    },
    async forget() {
      await systemctl('daemon-reload');
      await attempt('systemctl', '--user', 'reset-failed', unit);
    },
    async state() {
      const names = ['ActiveState', 'UnitFileState', 'MainPID'];
      const shown = await systemctl('show', unit, `--property=${names.join(',')}`);
      const values = new Map(shown.split('\n').map((line) => line.split('=', 2) as [string, string]));
      const pid = Number(values.get('MainPID') ?? 0);
      return {
        enabled: values.get('UnitFileState') === 'enabled',
        running: values.get('ActiveState') === 'active',
        pid: pid === 0 ? undefined : pid,
      };
    },
  };
}

async function systemctl(...words: string[]): Promise<string> {
  // Before the command itself, because without a user instance every command fails with an obscure message.
  const found = await attempt('systemctl', '--user', 'show-environment');
  if (typeof found !== 'string') {
    throw unavailable(`systemd does not manage services of this user: ${found.output}`, {
      hint: 'log in on a console, on a desktop, or over SSH, instead of with su or sudo',
    });
  }
  return control('systemctl', '--user', ...words);
}

function format({ command, environment, finalExitCodes }: ServiceDefinition): string {
  const variables = Object.entries(environment).map(
    ([name, value]) => `Environment=${quoted(`${name}=${value}`)}`,
  );
  const lines = [
    '# Created by thv service install. Remove it with thv service uninstall.',
    '[Unit]',
    'Description=ToolHive daemon',
    '',
    '[Service]',
    'Type=exec',
    `ExecStart=${command.map((word) => quoted(word).replaceAll('$', '$$$$')).join(' ')}`,
    ...variables,
    'Restart=on-failure',
    'RestartSec=1',
    `RestartPreventExitStatus=${finalExitCodes.join(' ')}`,
    // The daemon stops its servers itself.
    'KillMode=mixed',
    '',
    '[Install]',
    'WantedBy=default.target',
  ];
  return `${lines.join('\n')}\n`;
}

/** Quotes a word (systemd.syntax(7), section Quoting), and escapes specifiers (systemd.unit(5)). */
function quoted(word: string): string {
  if (/\p{Cc}/u.test(word)) throw invalid(`${JSON.stringify(word)} contains a control character`);
  return `"${word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')}"`;
}
