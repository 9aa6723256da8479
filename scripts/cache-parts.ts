// Writes the pack of short commands and V8's code caches of a program in parts: `node scripts/cache-parts.ts FOLDER`. In a
// separate process, because a cache is valid only for the flags of V8 that it was made with. Commands and a daemon run in
// it first: V8 compiles a function at its first call, and a cache contains the functions that are compiled.
import { once } from 'node:events';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Script } from 'node:vm';
import { limitYoungGeneration } from '@toolhive/cli/young-generation';
import {
  cacheFolder,
  compiledFiles,
  loadParts,
  packFile,
  packOf,
  scriptText,
  sealedCache,
} from '../apps/cli/src/parts.ts';
import type { Workload } from '@toolhive/contract/workload';
import { statePaths } from '@toolhive/state/paths';

const folder = resolve(process.argv[2] ?? '.');
/** The parts of these are in the pack. */
const short = [['version'], ['list']];
/** Only the functions of these are in the caches. */
const longer = [['--help'], ['list', '--all']];

const home = mkdtempSync(join(tmpdir(), 'thv-'));
for (const name of Object.keys(process.env)) if (name.startsWith('XDG_')) delete process.env[name];
process.env['HOME'] = process.env['USERPROFILE'] = process.env['LOCALAPPDATA'] = home;
const { socket } = statePaths(process.env);

const scripts = new Map<string, Script>();
function scriptOf(file: string): Script {
  const known = scripts.get(file);
  if (known !== undefined) return known;
  const content = readFileSync(join(folder, file), 'latin1'); // the build writes ASCII
  const script = new Script(scriptText(file, content), { filename: file });
  scripts.set(file, script);
  return script;
}

/** Runs a command with its own state, and returns the parts that it uses. */
async function run(words: readonly string[], hasPack: boolean): Promise<Set<string>> {
  const used = new Set<string>();
  const pathOf = (part: string): string => {
    used.add(part);
    return join(folder, part);
  };
  const { main } = loadParts({ scriptOf, hasPack, pathOf, require: createRequire(import.meta.filename) });
  await main(words);
  return used;
}

const runAll = async (commands: readonly string[][], hasPack: boolean): Promise<Set<string>> => {
  const used = new Set<string>();
  for (const words of commands) for (const part of await run(words, hasPack)) used.add(part);
  return used;
};

/** Stands in for a daemon: for every request, a list with one workload. */
async function serveList(): Promise<AsyncDisposable> {
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
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ workloads: [workload] }));
  });
  mkdirSync(dirname(socket), { recursive: true, mode: 0o700 });
  server.listen(socket);
  await once(server, 'listening');
  return server;
}

/** Runs a daemon until it answers, and returns the parts that it uses. A failure sets the exit code of this process. */
async function runDaemon(): Promise<Set<string>> {
  const running = run(['serve', '--background'], true);
  while (process.exitCode === undefined && !(await isListening())) await delay(20);
  process.emit('SIGTERM');
  return running;
}

async function isListening(): Promise<boolean> {
  const connection = connect({ path: socket });
  const isThere = await once(connection, 'connect').then(
    () => true,
    () => false, // not yet
  );
  connection.destroy();
  return isThere;
}

function writeCache(file: string): void {
  const path = join(folder, cacheFolder, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, sealedCache(scriptOf(file).createCachedData()));
}

let ofCommands: Set<string>;
{
  await using _daemon = await serveList();
  const packed = await runAll(short, false);
  const codeOf = (part: string): [string, string] => [part, readFileSync(join(folder, part), 'latin1')];
  writeFileSync(join(folder, packFile), packOf(new Map(Array.from(packed, codeOf))), 'latin1');
  ofCommands = await runAll([...short, ...longer], true);
}
const ofDaemon = await runDaemon();
rmSync(home, { recursive: true });

const files = new Set(globSync(compiledFiles, { cwd: folder }));
const onlyOfDaemon = [...ofDaemon].filter((part) => !ofCommands.has(part));
{
  using _flags = limitYoungGeneration(); // as when a daemon loads its modules
  for (const file of onlyOfDaemon) writeCache(file);
}
for (const file of files) if (!onlyOfDaemon.includes(file)) writeCache(file);
