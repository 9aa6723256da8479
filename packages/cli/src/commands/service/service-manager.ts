import { unsupported } from '@toolhive/contract/failure';
import { launchd } from './launchd.ts';
import type { ServiceManager } from './managed-service.ts';
import { systemd } from './systemd.ts';

/** Returns the service manager of this machine. Throws `unsupported` on an operating system without one that is known. */
export function serviceManager(
  platform: NodeJS.Platform = process.platform,
  env: NodeJS.ProcessEnv = process.env,
): ServiceManager {
  if (platform === 'linux') return systemd(env);
  if (platform === 'darwin') return launchd(env);
  throw unsupported(`services are not supported on ${platform}`, {
    hint: 'start thv serve from the task scheduler of your system',
  });
}
