import { describe, expect, test } from 'vitest';
import { serviceManager } from './service-manager.ts';
import { hasSameState } from './start-installed.ts';

const definition = {
  command: ['/opt/node & co/node', '/opt/thv.js', 'serve', '--background'],
  environment: { PATH: '/bin:/opt/<tools>', NAME: 'a\\b "c" 100% $HOME' },
  finalExitCodes: [2, 3],
} as const;
const env = { HOME: '/home/ann' };

test('a launch agent escapes what XML treats specially', () => {
  const manager = serviceManager('darwin', env);

  expect(manager.path).toBe('/home/ann/Library/LaunchAgents/dev.toolhive.daemon.plist');
  expect(manager.format(definition)).toMatchInlineSnapshot(`
    "<?xml version="1.0" encoding="UTF-8"?>
    <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
    <!-- Created by thv service install. Remove it with thv service uninstall. -->
    <plist version="1.0">
    <dict>
      <key>Label</key>
      <string>dev.toolhive.daemon</string>
      <key>ProgramArguments</key>
      <array>
        <string>/opt/node &amp; co/node</string>
        <string>/opt/thv.js</string>
        <string>serve</string>
        <string>--background</string>
      </array>
      <key>EnvironmentVariables</key>
      <dict>
        <key>PATH</key>
        <string>/bin:/opt/&lt;tools&gt;</string>
        <key>NAME</key>
        <string>a\\b "c" 100% $HOME</string>
      </dict>
      <key>RunAtLoad</key>
      <true/>
      <key>KeepAlive</key>
      <dict>
        <key>SuccessfulExit</key>
        <false/>
      </dict>
      <key>StandardOutPath</key>
      <string>/home/ann/Library/Logs/toolhive-service.log</string>
      <key>StandardErrorPath</key>
      <string>/home/ann/Library/Logs/toolhive-service.log</string>
    </dict>
    </plist>
    "
  `);
});

describe('a systemd unit', () => {
  test('escapes quotation marks, backslashes, and specifiers', () => {
    const manager = serviceManager('linux', { ...env, XDG_CONFIG_HOME: '/conf' });

    expect(manager.path).toBe('/conf/systemd/user/toolhive.service');
    expect(manager.format(definition)).toMatchInlineSnapshot(`
      "# Created by thv service install. Remove it with thv service uninstall.
      [Unit]
      Description=ToolHive daemon

      [Service]
      Type=exec
      ExecStart="/opt/node & co/node" "/opt/thv.js" "serve" "--background"
      Environment="PATH=/bin:/opt/<tools>"
      Environment="NAME=a\\\\b \\"c\\" 100%% $HOME"
      Restart=on-failure
      RestartSec=1
      RestartPreventExitStatus=2 3
      KillMode=mixed

      [Install]
      WantedBy=default.target
      "
    `);
  });

  test('refuses a value that would add a line to the unit', () => {
    const environment = { PATH: '/bin\nExecStartPre=/tmp/evil' };

    expect(() => serviceManager('linux', env).format({ ...definition, environment })).toThrow(
      'contains a control character',
    );
  });
});

test.each(['linux', 'darwin'] as const)(
  'a service is started only for its own state directory: %s',
  (platform) => {
    const manager = serviceManager(platform, env);
    const usual = manager.format(definition);
    const moved = manager.format({
      ...definition,
      environment: { PATH: '/bin', XDG_STATE_HOME: '/data/state' },
    });

    expect(hasSameState(usual, undefined)).toBe(true);
    expect(hasSameState(usual, '/data/state')).toBe(false);
    expect(hasSameState(moved, '/data/state')).toBe(true);
    expect(hasSameState(moved, undefined)).toBe(false);
    expect(hasSameState(moved, '/data')).toBe(false);
  },
);

test('an operating system without a known service manager is refused', () => {
  expect(() => serviceManager('win32', env)).toThrow('services are not supported on win32');
});
