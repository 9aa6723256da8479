import { isAbsolute } from 'node:path';

/**
 * Removes an empty or a relative home from the environment, so that every part of ToolHive and every program that it
 * starts finds the home of the user database instead. A daemon runs in another directory than its command, and would
 * keep its state in another place.
 */
export function removeRelativeHome(env: NodeJS.ProcessEnv): void {
  const home = env['HOME'];
  if (home !== undefined && !isAbsolute(home)) delete env['HOME'];
}
