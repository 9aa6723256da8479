#!/usr/bin/env node
// Usage: toolhive-test-servers [MANNERS] [ARGS…], MANNERS being a name from servers.js or `http` / `sse`.
import { serveHttp } from './http.js';
import { serveStdio } from './servers.js';

const [manners = 'echo', ...args] = process.argv.slice(2);
const world = {
  args,
  env: process.env,
  input: process.stdin,
  output: process.stdout,
  error: process.stderr,
  exit: (code) => process.exit(code),
  ignoreTermination() {
    process.on('SIGTERM', () => {});
    setInterval(() => {}, 1000); // outlives the end of standard input, too
  },
};
if (manners === 'http' || manners === 'sse') await serveHttp(manners, world);
else await serveStdio(manners, world);
