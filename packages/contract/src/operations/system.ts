import * as z from 'zod';
import { operation } from '../operation.ts';

export const Version = z
  .object({ version: z.string() })
  .meta({ id: 'Version', examples: [{ version: 'v0.1.0' }] });

export const RuntimeCheck = z
  .object({
    runtime: z.string().meta({ description: 'The name of the runtime.', examples: ['docker', 'process'] }),
    runs: z
      .enum(['images', 'packages'])
      .meta({ description: 'The sources of servers: container images and packages, or only packages.' }),
    available: z.boolean(),
    detail: z
      .string()
      .meta({ description: 'The version of the runtime, or the reason why it is not available.' }),
    hint: z.string().optional().meta({ description: 'An action that makes the runtime available.' }),
    limits: z
      .array(z.string())
      .meta({ description: 'The rules that the runtime cannot enforce on this machine.' }),
  })
  .meta({ id: 'RuntimeCheck', description: 'The state of a runtime.' });
export type RuntimeCheck = z.infer<typeof RuntimeCheck>;

export const RuntimeChecks = z
  .object({
    chosen: z
      .string()
      .nullable()
      .meta({ description: 'The runtime of new workloads. Null if no runtime is available.' }),
    runtimes: z.array(RuntimeCheck),
  })
  .meta({ id: 'RuntimeChecks', description: 'The runtimes of this machine.' });
export type RuntimeChecks = z.infer<typeof RuntimeChecks>;

/** A daemon process. */
export const DaemonProcess = z.object({
  pid: z.int().meta({ description: 'The process ID.' }),
  background: z.boolean().meta({ description: 'Whether a command started the daemon in the background.' }),
});
export type DaemonProcess = z.infer<typeof DaemonProcess>;

/**
 * `authentication`: callers need a token. `policies`: policies decide what callers may do. `documentation`: serves the
 * documentation site. `reference`: serves the page `/api/doc`. `stop`: the daemon can be stopped over this listener.
 */
export const daemonFeatures = ['authentication', 'policies', 'documentation', 'reference', 'stop'] as const;

export const Daemon = DaemonProcess.extend({
  started_at: z.string().meta({ description: 'The start time of the daemon.', format: 'date-time' }),
  features: z.array(z.enum(daemonFeatures)).meta({ description: 'The optional features of this listener.' }),
}).meta({ id: 'Daemon', description: 'The daemon that handles the request.' });
export type Daemon = z.infer<typeof Daemon>;

export const systemOperations = {
  getHealth: operation({
    method: 'GET',
    path: '/health',
    alsoAtRoot: true,
    tag: 'system',
    access: 'read',
    command: 'none',
    summary: 'Check whether a runtime is available',
    description:
      'Checks the runtimes of this machine. The body of an error names the missing program and the fix.',
    success: { status: 204, description: 'At least one runtime is available.' },
    failures: ['unavailable'],
  }),
  getVersion: operation({
    method: 'GET',
    path: '/version',
    alsoAtRoot: true,
    tag: 'version',
    access: 'read',
    command: ['version'],
    summary: 'Get the version',
    success: { status: 200, description: 'The version of the daemon.', body: Version },
    failures: [],
  }),
  getRuntime: operation({
    method: 'GET',
    path: '/runtime',
    tag: 'system',
    access: 'read',
    command: ['runtime check'],
    summary: 'List the runtimes',
    success: {
      status: 200,
      description: 'All runtimes, their availability, and the rules that they cannot enforce.',
      body: RuntimeChecks,
    },
    failures: [],
  }),
  getDaemon: operation({
    method: 'GET',
    path: '/hive',
    tag: 'system',
    access: 'read',
    command: 'none',
    summary: 'Get the daemon',
    success: { status: 200, description: 'The daemon.', body: Daemon },
    failures: [],
  }),
  stopDaemon: operation({
    method: 'POST',
    path: '/hive/stop',
    socketOnly: true,
    tag: 'system',
    access: 'write',
    command: 'none',
    summary: 'Stop the daemon',
    description:
      'Stops all servers and the daemon. Workloads stay on disk, and the next daemon starts the workloads that should run.',
    success: { status: 202, description: 'The daemon is stopping.' },
    failures: [],
  }),
};
