import { rm } from 'node:fs/promises';
import { clientVariables } from '@toolhive/contract/client-application';
import { conflict, invalid, unavailable } from '@toolhive/contract/failure';
import type { CommandCall } from '../../command.ts';
import { findDaemon, ownProgram } from '../../daemon.ts';
import { exitCodeOf } from '../../report.ts';
import { waitUntil } from '../../wait.ts';
import { portFrom } from '../port.ts';
import { writeOwnFile } from '../workloads/own-file.ts';
import type { ServiceDefinition } from './managed-service.ts';
import { serviceManager } from './service-manager.ts';

/** How long the daemon may take to stop or to start. */
const limitMs = 30_000;

/** Variables that the service needs and that contain no secrets. */
const kept = [
  'PATH',
  'XDG_STATE_HOME',
  'XDG_DATA_HOME',
  'XDG_CACHE_HOME',
  'DOCKER_HOST',
  'DOCKER_CONTEXT',
  'DOCKER_CONFIG',
  'CONTAINER_HOST',
  'TOOLHIVE_RUNTIME',
  'TOOLHIVE_DOCKER_SOCKET',
  'TOOLHIVE_PODMAN_SOCKET',
  'TOOLHIVE_COLIMA_SOCKET',
  'TOOLHIVE_SECRETS_PROVIDER',
  'TOOLHIVE_SECRETS_PASSWORD_FILE',
  ...clientVariables,
];

/** Installs the daemon as a service, and starts the service. */
export async function run({ flags, out, signal }: CommandCall): Promise<void> {
  const manager = serviceManager();
  const port = flags.isGiven('port') ? portFrom(flags) : undefined;
  const content = manager.format(definitionOf(port));
  const previous = await manager.state();
  if (!previous.running) await stopBackgroundDaemon(out.note, signal);
  await writeOwnFile(manager.path, content);
  try {
    await manager.enable();
    await waitUntil(async () => (await findDaemon()) ?? undefined, {
      timeoutMs: limitMs,
      signal,
      what: 'the daemon to start',
    });
  } catch (error) {
    await manager.disable().catch(() => {}); // the cause counts
    await rm(manager.path, { force: true });
    throw unavailable('the service did not start', {
      hint: `run ${manager.logs} to see the reason`,
      cause: error,
    });
  }
  const { pid } = await manager.state();
  const result = { manager: manager.name, path: manager.path, pid: pid ?? null };
  out.result(result, `Installed the ToolHive service (${manager.name}): ${manager.path}`);
  if (manager.afterInstallation !== undefined) out.note(manager.afterInstallation);
}

function definitionOf(port: number | undefined): ServiceDefinition {
  const [, script = ''] = process.argv;
  if (/[\\/]_npx[\\/]/.test(script)) {
    throw invalid('npx can remove this copy of thv at any time', {
      hint: 'install thv with npm install --global toolhive, then run thv service install',
    });
  }
  const words = port === undefined ? ['serve', '--background'] : ['serve', '--port', String(port)];
  const environment: Record<string, string> = { TOOLHIVE_IDLE_TIMEOUT: '0' };
  for (const name of kept) if (process.env[name] !== undefined) environment[name] = process.env[name];
  return {
    command: [...ownProgram(), ...words],
    environment,
    finalExitCodes: [exitCodeOf('invalid'), exitCodeOf('conflict')],
  };
}

/** Stops a daemon that another command has started, because only one daemon can own the state. */
async function stopBackgroundDaemon(note: (text: string) => void, signal: AbortSignal): Promise<void> {
  const daemon = await findDaemon();
  if (daemon === undefined) return;
  const { pid, background } = await daemon.getDaemon({});
  if (!background) {
    throw conflict(`a daemon is already running in the foreground, as process ${pid}`, {
      hint: 'stop that daemon, then run thv service install again',
    });
  }
  note('stopping the background daemon, so that the service can replace it');
  await daemon.stopDaemon({});
  await waitUntil(async () => ((await findDaemon()) === undefined ? true : undefined), {
    timeoutMs: limitMs,
    signal,
    what: 'the background daemon to stop',
  });
}
