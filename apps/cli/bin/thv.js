#!/usr/bin/env -S node --
// Without the dashes Node.js itself reads the file of `thv run --env-file`, wherever it stands in the command line.
// Starts the bundle when it was built, else the sources; on a Node.js that is too old, on the one installed here.
// It is CommonJS, and loads Node's own modules only where they are needed: it is part of the time of every command.
'use strict';

if (isNewEnough(process.versions.node)) void start();
else startOnNewer();

function isNewEnough(version) {
  return Number(version.split('.')[0]) >= 24;
}

async function start() {
  const bundle = `${__dirname}/../dist/thv.js`;
  const isBuilt = require('node:fs').existsSync(bundle);
  const { main } = isBuilt ? require(bundle) : await import('@toolhive/cli/main');
  await main(process.argv.slice(2));
}

function startOnNewer() {
  const node = findNode();
  if (node === undefined) {
    process.stderr.write(
      `thv needs Node.js 24 or newer, and this is ${process.version}: https://nodejs.org\n`,
    );
    process.exitCode = 1;
    return;
  }
  const { spawn } = require('child_process');
  const child = spawn(node, ['--', __filename, ...process.argv.slice(2)], { stdio: 'inherit' });
  // Ctrl-C reaches both of them by itself; what is sent to this one alone is passed on.
  process.on('SIGINT', () => {});
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code) => (process.exitCode = code === null ? 1 : code));
}

/** The Node.js of the npm package `node`, where that is installed and new enough. */
function findNode() {
  try {
    const { version } = require('node/package.json');
    return isNewEnough(version) ? require.resolve('node/bin/node') : undefined;
  } catch {
    return undefined; // not installed
  }
}
