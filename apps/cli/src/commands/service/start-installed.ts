import { existsSync } from 'node:fs';
import { ThvError } from '@toolhive/contract/failure';
import { serviceManager } from './service-manager.ts';

/**
 * Starts the daemon as a service if one is installed, so that the service and a background daemon do not compete for
 * the state. Returns false if no service is installed or the service cannot be started.
 */
export async function startInstalledService(note: (text: string) => void): Promise<boolean> {
  try {
    const manager = serviceManager();
    if (!existsSync(manager.path)) return false;
    await manager.start();
    note(`started the ToolHive service (${manager.name})`);
    return true;
  } catch (error) {
    if (!(error instanceof ThvError)) throw error;
    if (error.kind !== 'unsupported') note(`the ToolHive service was not started: ${error.message}`);
    return false;
  }
}
