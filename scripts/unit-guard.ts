// Keeps the suite `unit` pure: its tests start no system programs except the ones of every development machine.
import childProcess, { ChildProcess } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, delimiter, join, resolve } from 'node:path';

/** Node.js, the shells, and what comes with them. */
const everywhere = new Set([basename(process.execPath), 'node', 'sh', 'bash', 'true', 'mkfifo']);
const temporary = `${realpathSync(tmpdir())}/`;
/** Programs of packages come with `npm ci`. */
const packages = `${join(import.meta.dirname, '../node_modules')}/`;
const repository = `${join(import.meta.dirname, '..')}/`;

function refuseSystemPrograms(file: string, path: string | undefined): void {
  if (everywhere.has(basename(file))) return;
  const places = file.includes('/')
    ? [resolve(file)]
    : (path ?? '').split(delimiter).map((folder) => join(folder, file));
  const place = places.find((candidate) => existsSync(candidate));
  if (place === undefined) return; // a test of a missing program
  const real = realpathSync(place);
  const isWrittenByTest = real.startsWith(temporary) && !real.startsWith(repository);
  if (isWrittenByTest || real.startsWith(packages)) return;
  throw new Error(
    `a pure test starts ${file}: put "// @suite system" in the first line of the test file, or see scripts/suites.ts`,
  );
}

function guard(): void {
  // All asynchronous functions of the module call this method, which has no types.
  const starting = ChildProcess.prototype as unknown as {
    spawn: (options: { file: string; envPairs?: readonly string[] }) => unknown;
  };
  const { spawn } = starting;
  starting.spawn = function guarded(options) {
    const path = options.envPairs?.find((pair) => pair.startsWith('PATH='))?.slice('PATH='.length);
    refuseSystemPrograms(options.file, path);
    return spawn.call(this, options);
  };
  for (const name of ['spawnSync', 'execFileSync'] as const) {
    const original = childProcess[name] as (file: string, ...rest: unknown[]) => unknown;
    Object.assign(childProcess, {
      [name]: (file: string, ...rest: unknown[]) => {
        refuseSystemPrograms(file, process.env['PATH']);
        return original(file, ...rest);
      },
    });
  }
  syncBuiltinESMExports();
}

// The test files of a process share its modules, and this file is run again for each of them.
const isGuarded = Symbol.for('toolhive.unit-guard');
if (!Object.hasOwn(childProcess, isGuarded)) {
  guard();
  Object.assign(childProcess, { [isGuarded]: true });
}
