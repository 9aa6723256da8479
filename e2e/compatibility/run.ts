// Runs client libraries as they are published against workloads: `npm run compatibility`, or with names of libraries.
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '@toolhive/contract/failure';
import * as z from 'zod';
import { buildCli } from '../../scripts/build.ts';
import { generations, openEndpoints } from '../conformance/targets.ts';
import type { Generation } from '../conformance/targets.ts';
import { libraries } from './libraries.ts';
import type { Library, Trial } from './libraries.ts';
import { Results } from './results.ts';
import type { Result } from './results.ts';

/** What a program says that it got. */
const Observed = z.object({
  tools: z.array(z.string()),
  text: z.string(),
  progress: z.array(z.number()).optional(),
  error: z.string(),
  elicitation: z.string().optional(),
  sampling: z.string().optional(),
});
type Observed = z.infer<typeof Observed>;

/** Whether what a client got is what the server sent. */
const isRight: Record<Trial, (observed: Observed) => boolean> = {
  tools: ({ tools }) => tools.includes('test_simple_text') && tools.includes('test_sampling'),
  text: ({ text }) => text === 'This is a simple text response for testing.',
  progress: ({ progress }) => progress?.join() === '0,50,100',
  error: ({ error }) => error.includes('This tool intentionally returns an error for testing'),
  elicitation: ({ elicitation }) => elicitation?.includes('an answer') === true,
  sampling: ({ sampling }) => sampling?.includes('a completion') === true,
};

/** Downloads and builds take minutes on a busy machine. */
const installTimeoutMs = 15 * 60_000;
const trialTimeoutMs = 2 * 60_000;

type Start = readonly [file: string, ...args: string[]];

/** Installs packages and a program into a folder, and returns how the program starts. */
const installers: Record<Library['ecosystem'], (folder: string, library: Library) => Promise<Start>> = {
  async npm(folder, { packages, program }) {
    await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: packages }));
    await run(folder, ['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund']);
    await copyProgram(folder, program);
    return [process.execPath, program];
  },
  async pypi(folder, { packages, program }) {
    await run(folder, ['python3', '-m', 'venv', 'venv']);
    const pinned = Object.entries(packages).map(([name, version]) => `${name}==${version}`);
    await run(folder, ['venv/bin/pip', 'install', '--quiet', ...pinned]);
    await copyProgram(folder, program);
    return [join(folder, 'venv/bin/python'), program];
  },
  async go(folder, { packages, program }) {
    await writeFile(join(folder, 'go.mod'), 'module compatibility\n');
    const pinned = Object.entries(packages).map(([name, version]) => `${name}@${version}`);
    await copyProgram(folder, program);
    await run(folder, ['go', 'get', ...pinned]);
    await run(folder, ['go', 'mod', 'tidy']);
    await run(folder, ['go', 'build', '-o', 'client', '.']);
    return [join(folder, 'client')];
  },
  async cargo(folder, { packages, features = {}, program }) {
    const dependencies = Object.entries(packages).map(
      ([name, version]) =>
        `${name} = { version = "=${version}", features = ${JSON.stringify(features[name] ?? [])} }`,
    );
    const manifest = ['[package]', 'name = "client"', 'edition = "2024"', '[dependencies]', ...dependencies];
    await writeFile(join(folder, 'Cargo.toml'), manifest.join('\n'));
    await mkdir(join(folder, 'src'));
    await copyProgram(folder, program, 'src/main.rs');
    await run(folder, ['cargo', 'build', '--quiet']);
    return [join(folder, 'target/debug/client')];
  },
};

async function copyProgram(folder: string, program: string, as = program): Promise<void> {
  await copyFile(join(import.meta.dirname, 'clients', program), join(folder, as));
}

async function run(folder: string, [file, ...args]: Start, timeout = installTimeoutMs): Promise<string> {
  const { stdout } = await promisify(execFile)(file, args, { cwd: folder, timeout, maxBuffer: 2 ** 26 });
  return stdout;
}

/** Installs a library and tries it against a server of each generation behind the proxy. */
async function tryLibrary(
  library: Library,
  urlOf: (generation: Generation) => Promise<string>,
): Promise<Result> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'compatibility-'));
  const { name, packages, trials } = library;
  const failures: string[] = [];
  try {
    const start = await installers[library.ecosystem](folder.path, library);
    for (const generation of generations) {
      const url = await urlOf(generation);
      try {
        const stdout = await run(folder.path, [...start, url, ...(library.args ?? [])], trialTimeoutMs);
        const observed = Observed.parse(JSON.parse(stdout.trim().split('\n').at(-1) ?? ''));
        for (const trial of trials)
          if (!isRight[trial](observed))
            failures.push(`${trial} with a ${generation} server: ${JSON.stringify(observed[trial])}`);
      } catch (error) {
        failures.push(`with a ${generation} server: ${lastLines(messageOf(error))}`);
      }
    }
  } catch (error) {
    failures.push(`installing: ${lastLines(messageOf(error))}`);
  }
  return { name, packages, date: new Date().toISOString().slice(0, 10), trials: [...trials], failures };
}

/** The end of what a program wrote tells what is wrong. */
function lastLines(text: string): string {
  return text.trim().split('\n').slice(-12).join('\n');
}

const resultsFile = join(import.meta.dirname, 'results.json');

/** Replaces the results of the libraries that ran, and drops those of libraries that are not listed. */
async function save(results: readonly Result[]): Promise<void> {
  const previous = Results.parse(JSON.parse(await readFile(resultsFile, 'utf8')));
  const merged = libraries.flatMap(({ name }) => {
    const result = [...results, ...previous].find((one) => one.name === name);
    return result === undefined ? [] : [result];
  });
  await writeFile(resultsFile, `${JSON.stringify(merged, undefined, 2)}\n`);
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !libraries.some((library) => library.name === name));
if (unknown.length > 0)
  throw new Error(`unknown libraries: ${unknown.join(', ')}; see e2e/compatibility/libraries.ts`);

await buildCli();
await using endpoints = await openEndpoints();
for (const library of libraries) {
  if (wanted.length > 0 && !wanted.includes(library.name)) continue;
  const result = await tryLibrary(library, (generation) =>
    endpoints.proxied({ generation, transport: 'stdio' }),
  );
  process.stdout.write(`${result.failures.length === 0 ? 'passed' : 'FAILED'}: ${result.name}\n`);
  for (const failure of result.failures) process.stdout.write(`  ${failure}\n`);
  if (result.failures.length > 0) process.exitCode = 1;
  await save([result]);
}
