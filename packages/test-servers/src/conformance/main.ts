#!/usr/bin/env node
// Usage: toolhive-conformance legacy|modern|dual|tasks stdio|http. Over HTTP, the server listens on MCP_PORT.
import { flushCompileCache } from 'node:module';

const [era = '', transport = ''] = process.argv.slice(2);

/** Loads only the necessary modules, because a proxy may start a process for every session. */
const servers: Record<string, () => Promise<unknown>> = {
  'legacy stdio': async () => (await import('./legacy.ts')).serveStdio(),
  'modern stdio': async () => (await import('./modern.ts')).serveStdio('reject'),
  'dual stdio': async () => (await import('./modern.ts')).serveStdio('serve'),
  'legacy http': async () => (await import('./http.ts')).serveHttp('legacy', listenOn()),
  'modern http': async () => (await import('./http.ts')).serveHttp('modern', listenOn()),
  'tasks stdio': async () => (await import('./tasks.ts')).serveTasksOnStdio(),
  'tasks http': async () => (await import('./http.ts')).serveHttp('tasks', listenOn()),
  'dual http': async () => (await import('./http.ts')).serveHttp('dual', listenOn()),
};

const listenOn = () => ({
  host: process.env['MCP_HOST'] ?? '127.0.0.1',
  port: Number(process.env['MCP_PORT'] ?? 0),
});

const serve = servers[`${era} ${transport}`];
if (serve === undefined) throw new Error('usage: toolhive-conformance legacy|modern|dual|tasks stdio|http');
await serve();
// Tests end this process with a signal, which would lose the compiled code for the next process.
flushCompileCache();
