import * as z from 'zod';
import { operation } from '../operation.ts';

export const Version = z
  .object({ version: z.string() })
  .meta({ id: 'Version', examples: [{ version: 'v0.1.0' }] });

export const RuntimeCheck = z
  .object({
    runtime: z.string().meta({ description: 'docker or process.' }),
    available: z.boolean(),
    detail: z.string().meta({ description: 'What answered, or why nothing did.' }),
    hint: z.string().optional().meta({ description: 'What to do to make it available.' }),
    limits: z.array(z.string()).meta({ description: 'What it cannot enforce on this machine.' }),
  })
  .meta({ id: 'RuntimeCheck', description: 'Whether servers can run in one way, and how.' });
export type RuntimeCheck = z.infer<typeof RuntimeCheck>;

export const RuntimeChecks = z
  .object({
    chosen: z
      .string()
      .nullable()
      .meta({ description: 'The runtime that new workloads get; null when none is there.' }),
    runtimes: z.array(RuntimeCheck),
  })
  .meta({ id: 'RuntimeChecks', description: 'What this machine can run servers in.' });
export type RuntimeChecks = z.infer<typeof RuntimeChecks>;

/** The process of a daemon. */
export const DaemonProcess = z.object({
  pid: z.int().meta({ description: 'Its process id.' }),
  background: z.boolean().meta({ description: 'A command started it, and nobody looks at it.' }),
});
export type DaemonProcess = z.infer<typeof DaemonProcess>;

/**
 * `authentication`: callers need a token. `policies`: policies decide what callers may do. `documentation`: serves the
 * documentation site. `reference`: serves the page `/api/doc`. `stop`: the daemon can be stopped over this listener.
 */
export const daemonFeatures = ['authentication', 'policies', 'documentation', 'reference', 'stop'] as const;

export const Daemon = DaemonProcess.extend({
  started_at: z.string().meta({ description: 'When the daemon started.', format: 'date-time' }),
  features: z
    .array(z.enum(daemonFeatures))
    .meta({ description: 'The optional parts that this listener of the daemon has.' }),
}).meta({ id: 'Daemon', description: 'The daemon that answers.' });
export type Daemon = z.infer<typeof Daemon>;

export const systemOperations = {
  getHealth: operation({
    method: 'GET',
    path: '/health',
    alsoAtRoot: true,
    tag: 'system',
    summary: 'Tell whether servers can run',
    description:
      'Asks the runtimes of this machine. The body of a failure says what is missing and how to get it.',
    success: { status: 204, description: 'At least one runtime is there.' },
    failures: ['unavailable'],
  }),
  getVersion: operation({
    method: 'GET',
    path: '/version',
    alsoAtRoot: true,
    tag: 'version',
    summary: 'Tell the version',
    success: { status: 200, description: 'The version of the daemon.', body: Version },
    failures: [],
  }),
  getRuntime: operation({
    method: 'GET',
    path: '/runtime',
    tag: 'system',
    summary: 'Describe what servers can run in',
    success: {
      status: 200,
      description: 'Every runtime, whether it is there, and what it cannot enforce.',
      body: RuntimeChecks,
    },
    failures: [],
  }),
  getDaemon: operation({
    method: 'GET',
    path: '/hive',
    tag: 'system',
    summary: 'Describe the daemon that answers',
    success: { status: 200, description: 'The daemon.', body: Daemon },
    failures: [],
  }),
  stopDaemon: operation({
    method: 'POST',
    path: '/hive/stop',
    socketOnly: true,
    tag: 'system',
    summary: 'Stop the daemon',
    description:
      'Ends every server and the daemon itself. The workloads stay as they are on disk: the next daemon runs what should run.',
    success: { status: 202, description: 'The daemon is ending.' },
    failures: [],
  }),
};
