// Builds what is needed and runs the hive in the foreground: `npm start -- --host H --port N`.
import { buildCli } from './build.ts';
import { installMissing, sandboxPrograms } from './machine.ts';

if (process.platform === 'linux') installMissing(sandboxPrograms);
await buildCli();

// The bundle runs in this very process, so that whoever ends `npm start` ends the hive; it starts others by
// the name of the script, which is then its own.
const cli = new URL('../apps/cli/', import.meta.url);
process.argv[1] = new URL('bin/thv.js', cli).pathname;
const { main } = (await import(new URL('dist/thv.js', cli).href)) as {
  main: (words: readonly string[]) => Promise<void>;
};
await main(['serve', ...process.argv.slice(2)]);
