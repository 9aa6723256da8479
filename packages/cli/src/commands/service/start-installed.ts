import { readFileSync } from 'node:fs';
import { ThvError } from '@toolhive/contract/failure';
import { serviceManager } from './service-manager.ts';

/**
 * Starts the daemon as a service if one is installed for the state of this command, so that the service and a background
 * daemon do not compete for the state. Returns false if no such service is installed or the service cannot be started.
 */
export async function startInstalledService(note: (text: string) => void): Promise<boolean> {
  try {
    const manager = serviceManager();
    const definition = readDefinition(manager.path);
    if (definition === undefined || !hasSameState(definition, process.env['XDG_STATE_HOME'])) return false;
    await manager.start();
    note(`started the ToolHive service (${manager.name})`);
    return true;
  } catch (error) {
    if (!(error instanceof ThvError)) throw error;
    if (error.kind !== 'unsupported') note(`the ToolHive service was not started: ${error.message}`);
    return false;
  }
}

function readDefinition(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined; // no service of this user, or none that this user can read
  }
}

/**
 * Whether a service uses a state directory. A value with characters that its definition escapes counts as different, and
 * then a background daemon starts.
 */
export function hasSameState(definition: string, stateHome: string | undefined): boolean {
  const named = /XDG_STATE_HOME(?:=|<\/key>\s*<string>)([^"<]*)/.exec(definition)?.[1];
  return named === (stateHome === '' ? undefined : stateHome);
}
