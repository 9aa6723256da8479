import { homedir } from 'node:os';
import { join } from 'node:path';
import { attempt, control } from './managed-service.ts';
import type { ServiceDefinition, ServiceManager } from './managed-service.ts';

const label = 'dev.toolhive.daemon';

/** The launch agents of the current user on macOS (launchd.plist(5), launchctl(1)). */
export function launchd(env: NodeJS.ProcessEnv): ServiceManager {
  const home = env['HOME'] ?? homedir();
  const path = join(home, 'Library', 'LaunchAgents', `${label}.plist`);
  const output = join(home, 'Library', 'Logs', 'toolhive-service.log');
  const domain = `gui/${process.getuid?.() ?? 0}`;
  const target = `${domain}/${label}`;
  return {
    name: 'launchd',
    path,
    logs: `tail ${output}`,
    format: (definition) => format(definition, output),
    async enable() {
      await attempt('launchctl', 'bootout', target);
      await control('launchctl', 'enable', target);
      await control('launchctl', 'bootstrap', domain, path);
    },
    async start() {
      await control('launchctl', 'kickstart', target);
    },
    async disable() {
      await attempt('launchctl', 'bootout', target);
    },
    async forget() {},
    async state() {
      const shown = await attempt('launchctl', 'print', target);
      const pid = typeof shown === 'string' ? /^\s*pid = (\d+)$/m.exec(shown)?.[1] : undefined;
      return {
        enabled: typeof shown === 'string',
        running: pid !== undefined,
        pid: pid === undefined ? undefined : Number(pid),
      };
    },
  };
}

function format({ command, environment }: ServiceDefinition, output: string): string {
  const variables = Object.entries(environment).flatMap(([name, value]) => [
    `    <key>${escaped(name)}</key>`,
    `    <string>${escaped(value)}</string>`,
  ]);
  const lines = [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    '<!-- Created by thv service install. Remove it with thv service uninstall. -->',
    '<plist version="1.0">',
    '<dict>',
    '  <key>Label</key>',
    `  <string>${label}</string>`,
    '  <key>ProgramArguments</key>',
    '  <array>',
    ...command.map((word) => `    <string>${escaped(word)}</string>`),
    '  </array>',
    '  <key>EnvironmentVariables</key>',
    '  <dict>',
    ...variables,
    '  </dict>',
    '  <key>RunAtLoad</key>',
    '  <true/>',
    '  <key>KeepAlive</key>',
    '  <dict>',
    '    <key>SuccessfulExit</key>',
    '    <false/>',
    '  </dict>',
    '  <key>StandardOutPath</key>',
    `  <string>${escaped(output)}</string>`,
    '  <key>StandardErrorPath</key>',
    `  <string>${escaped(output)}</string>`,
    '</dict>',
    '</plist>',
  ];
  return `${lines.join('\n')}\n`;
}

/** Escapes character data (XML 1.0, section 2.4). */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
