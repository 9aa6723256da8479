// Writes V8's code caches for the parts of the single executable: `node scripts/cache-parts.ts FOLDER`. In a separate process,
// because a cache is valid only for the flags of V8 that it was made with. Short commands run in it first: V8
// compiles a function at its first call, and a cache contains the functions that are compiled.
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';
import { entryPart, loadParts } from '../apps/cli/src/executable-parts.ts';
import type { Workload } from '@toolhive/contract/workload';
import { statePaths } from '@toolhive/state/paths';

const [folder = '.'] = process.argv.slice(2);

const scripts = new Map<string, Script>();
function scriptOf(name: string): Script {
  const known = scripts.get(name);
  if (known !== undefined) return known;
  const script = new Script(readFileSync(join(folder, name), 'latin1'), { filename: name });
  scripts.set(name, script);
  return script;
}

const home = mkdtempSync(join(tmpdir(), 'thv-'));
for (const name of Object.keys(process.env)) if (name.startsWith('XDG_')) delete process.env[name];
process.env['HOME'] = process.env['USERPROFILE'] = process.env['LOCALAPPDATA'] = home;
const { socket } = statePaths(process.env);
mkdirSync(dirname(socket), { recursive: true, mode: 0o700 });

/** Stands in for a daemon: for every request, a list with one workload. */
const workload: Workload = {
  name: 'fetch',
  package: 'uvx://mcp-server-fetch',
  url: 'http://127.0.0.1:1/mcp',
  port: 1,
  tool_type: 'mcp',
  transport_type: 'stdio',
  proxy_mode: 'streamable-http',
  remote: false,
  group: 'default',
  status: 'running',
  created_at: '2026-01-01T00:00:00Z',
};
const daemon = createServer((_request, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ workloads: [workload] }));
});

const commands = [['version'], ['list'], ['--help']];
function next(): void {
  const words = commands.shift();
  if (words === undefined) {
    daemon.close();
    rmSync(home, { recursive: true });
    for (const name of globSync('**/*.js', { cwd: folder }))
      writeFileSync(join(folder, `${name}.cache`), scriptOf(name).createCachedData());
    return;
  }
  process.argv.splice(2, process.argv.length, ...words);
  loadParts(scriptOf, entryPart);
  process.once('beforeExit', next); // when the command has nothing more to do
  setImmediate(() => {}); // otherwise, the event does not happen after a command that never waits
}
daemon.listen(socket, next).unref();
