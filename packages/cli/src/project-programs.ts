import { delimiter } from 'node:path';

/**
 * Removes the program directories of npm projects from PATH. `npx` and `npm run` put those of the current directory and of all
 * above it there, but one daemon serves all projects. A server that can write to a project could replace these programs.
 */
export function removeProjectPrograms(env: NodeJS.ProcessEnv): void {
  const path = env['PATH'];
  if (path === undefined) return;
  const kept = path.split(delimiter).filter((folder) => !/[\\/]node_modules[\\/]\.bin[\\/]?$/.test(folder));
  env['PATH'] = kept.join(delimiter);
}
