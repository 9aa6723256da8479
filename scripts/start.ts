// Builds the product and runs the daemon in the foreground: `npm start -- --host H --port N`.
import { spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { buildCli } from './build.ts';
import { siteFolder } from './build-docs.ts';
import { installMissing, sandboxPrograms } from '@toolhive/testing/machine';

if (process.platform === 'linux') installMissing(sandboxPrograms);
await buildCli();

// In the background, because the documentation takes longer to build than users should wait for the daemon.
process.env['TOOLHIVE_SITE'] ??= siteFolder;
if (process.env['TOOLHIVE_SITE'] === siteFolder) buildInBackground();

// The bundle runs in this process, so that the end of `npm start` ends the daemon. The daemon starts other processes by
// the name of the script, which is then its own.
const cli = new URL('../apps/cli/', import.meta.url);
process.argv[1] = new URL('bin/thv.js', cli).pathname;
const { main } = (await import(new URL('dist/thv.js', cli).href)) as {
  main: (words: readonly string[]) => Promise<void>;
};
await main(['serve', ...process.argv.slice(2)]);

function buildInBackground(): void {
  const script = new URL('build-docs.ts', import.meta.url).pathname;
  const stdio = ['ignore', 'ignore', 'ignore', 'ipc'] as const;
  const child = spawn(process.execPath, [script, '--quick'], { stdio: [...stdio], detached: true });
  const { pid } = child;
  if (pid === undefined) return; // the daemon has priority
  setPriority(pid, constants.priority.PRIORITY_LOW);
  const end = (): void => void process.kill(-pid);
  let isBuilding = false;
  process.once('exit', end);
  child.once('message', () => {
    isBuilding = true;
    process.stderr.write('building the documentation in the background, for /\n');
  });
  child.once('exit', (code) => {
    process.off('exit', end);
    if (code !== 0)
      process.stderr.write(
        'the documentation could not be built. Run npm run docs:build to see the reason\n',
      );
    else if (isBuilding) process.stderr.write('the documentation is at /\n');
  });
  child.unref();
  child.channel?.unref();
}
