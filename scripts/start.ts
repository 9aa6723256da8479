// Builds what is needed and runs the daemon in the foreground: `npm start -- --host H --port N`.
import { spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { buildCli } from './build.ts';
import { isSiteCurrent, siteFolder } from './build-docs.ts';
import { installMissing, sandboxPrograms } from './machine.ts';

if (process.platform === 'linux') installMissing(sandboxPrograms);
await buildCli();

// The documentation takes longer to build than anybody waits for the daemon, so it comes when it comes.
process.env['TOOLHIVE_SITE'] ??= siteFolder;
if (process.env['TOOLHIVE_SITE'] === siteFolder && !(await isSiteCurrent())) buildInBackground();

// The bundle runs in this very process, so that whoever ends `npm start` ends the daemon; it starts others by
// the name of the script, which is then its own.
const cli = new URL('../apps/cli/', import.meta.url);
process.argv[1] = new URL('bin/thv.js', cli).pathname;
const { main } = (await import(new URL('dist/thv.js', cli).href)) as {
  main: (words: readonly string[]) => Promise<void>;
};
await main(['serve', ...process.argv.slice(2)]);

function buildInBackground(): void {
  process.stderr.write('building the documentation in the background; it will be at /\n');
  const script = new URL('build-docs.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, '--quick'], { stdio: 'ignore', detached: true });
  const { pid } = child;
  if (pid === undefined) return; // the daemon is what was asked for
  setPriority(pid, constants.priority.PRIORITY_LOW);
  const end = (): void => void process.kill(-pid);
  process.once('exit', end);
  child.once('exit', (code) => {
    process.off('exit', end);
    const outcome = code === 0 ? 'is at /' : 'could not be built; npm run docs:build says why';
    process.stderr.write(`the documentation ${outcome}\n`);
  });
  child.unref();
}
