import type { Command } from '../../command.ts';

/** Run the daemon as a service of the operating system. */
export const serviceCommands: readonly Command[] = [
  {
    path: 'service install',
    summary: 'Start the daemon whenever you log in',
    description:
      'Creates a systemd user unit on Linux or a launch agent on macOS, and starts the daemon with it. The operating system then starts the daemon when you log in, and again after a crash. Workloads that were running start with the daemon. If the service was stopped, the next command that needs the daemon starts the service.\n\nThe service keeps the PATH of this shell and the XDG directories. Secrets that are protected only by a password stay locked until you unlock them.',
    flags: [
      {
        name: 'port',
        kind: 'integer',
        value: 'PORT',
        description: 'Also serve the HTTP API and the web UI on this port of 127.0.0.1',
      },
    ],
    examples: ['thv service install', 'thv service install --port 8080'],
    load: () => import('./install.ts'),
  },
  {
    path: 'service status',
    summary: 'Show whether the daemon runs as a service',
    examples: ['thv service status', 'thv service status --format json'],
    load: () => import('./status.ts'),
  },
  {
    path: 'service uninstall',
    summary: 'Stop the service and remove it',
    description:
      'Stops the daemon and its workloads, and removes the service. Workloads and settings are kept. The next command starts a daemon in the background.',
    examples: ['thv service uninstall'],
    load: () => import('./uninstall.ts'),
  },
];
