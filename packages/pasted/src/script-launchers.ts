import { invalid } from '@toolhive/contract/failure';
import { readDotenv } from './env-file.ts';
import { isPath, mainOf, readLocalPath } from './local-path.ts';
import { readOtherFlags, switches, valuesOf, withValues } from './other-flags.ts';
import { packageImage } from './package-spec.ts';
import { absolutePath } from './paths.ts';
import type { Pasted, PastedFrom } from './pasted.ts';

/** A script, maybe after flags. The names of programs can be names of registry entries, too. */
export function beforeScript(pattern: RegExp): (words: readonly string[]) => boolean {
  return (words) => {
    const [first = ''] = words;
    const end = words.indexOf('--');
    const before = end === -1 ? words : words.slice(0, end);
    return pattern.test(first) || (first.startsWith('-') && before.some((word) => pattern.test(word)));
  };
}

/** A file with an MCP server, maybe with the name of the object in it, or a file that names such a file. */
export const servedFile = beforeScript(/\.(?:py(?::\w+)?|json)$/);
export const javaScript = beforeScript(/\.[cm]?[jt]sx?$|[\\/]node_modules[\\/]\.bin[\\/][\w.-]+$/);
/** The same for Node.js, which also takes a package directory, and a script without its file extension. */
export function nodeScript(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  const before = end === -1 ? words : words.slice(0, end);
  return javaScript(words) || isPath(before.find((word) => !word.startsWith('-')) ?? '');
}
/** TypeScript loaders. Node.js reads TypeScript without help. */
const typeScript = /^(?:tsx|ts-node)(?:\/|$)/;
const preloads = ['-r', '--require', '--import', '--loader', '--experimental-loader'];
const envFiles = ['--env-file', '--env-file-if-exists'];
/** Flags that change how Node.js runs in a terminal, or how it is started, and not the server. */
const withoutEffect = /^--(?:inspect|watch|title|trace-|no-install|prefer-)/;

/** `node [FLAGS] SCRIPT`, and the same for programs that read TypeScript. The flags become `NODE_OPTIONS`. */
export async function readNode(all: readonly string[], from: PastedFrom): Promise<Pasted> {
  const known = withValues(...preloads, ...envFiles, '-C', '--conditions');
  const { given, words } = readOtherFlags('node', all, known, /^--(?!eval$|print$|check$|test|run$)/);
  const [, preload] = given.find(([flag, value]) => preloads.includes(flag) && !typeScript.test(value)) ?? [];
  if (preload !== undefined) {
    throw invalid(`the module ${preload}, which node loads before the script, is not supported`, {
      hint: 'import the module in the script, and omit the flag',
    });
  }
  const options = given.flatMap(([flag, value]) => {
    if ([...preloads, ...envFiles].includes(flag) || withoutEffect.test(flag)) return [];
    requireOption(flag);
    return [value === '' ? flag : `${flag}=${value}`];
  });
  const env = {
    ...(await readEnvFiles(valuesOf(given, ...envFiles), from)),
    ...(options.length === 0 ? {} : { NODE_OPTIONS: options.join(' ') }),
  };
  const [script = '', ...args] = words;
  return readScript('node', words.length === 0 ? [] : [mainOf(script, from), ...args], from, env);
}

/** Node.js does not start with a flag that it only accepts on its command line. */
function requireOption(flag: string): void {
  const names = [flag, flag.replace(/^--no-/, '--')];
  if (names.some((name) => process.allowedNodeEnvironmentFlags.has(name))) return;
  throw invalid(`the flag ${flag} is not supported, because node accepts it only on its command line`, {
    hint: `omit ${flag}`,
  });
}

/** `tsx [watch] [FLAGS] SCRIPT`, and the same for `ts-node`. Their own flags say how they read TypeScript. */
export function readTypeScript(all: readonly string[], from: PastedFrom): Promise<Pasted> {
  const own =
    /^(?:watch|-T|--(?:esm|transpile-?only|swc|files|pretty|no-cache|type-?check|clear-screen=.*))$/i;
  const [first = ''] = all;
  if (own.test(first)) return readTypeScript(all.slice(1), from);
  if (/^(?:-P|--project|--tsconfig|-O)$/.test(first)) return readTypeScript(all.slice(2), from);
  return readNode(all, from);
}

/** `bun [run] SCRIPT`. */
export async function readBun(all: readonly string[], from: PastedFrom): Promise<Pasted> {
  const { given, words } = readOtherFlags(
    'bun',
    all,
    withValues(...envFiles, '--cwd'),
    /^--(?!eval$|print$)/,
  );
  const directory = valuesOf(given, '--cwd').at(-1);
  const place = directory === undefined ? from : { ...from, directory: absolutePath(directory, from) };
  const script = words[0] === 'run' ? words.slice(1) : words;
  return readScript('bun', script, place, await readEnvFiles(valuesOf(given, ...envFiles), place));
}

const denoFlags = {
  ...switches('-A', '-q', '-r', '-N', '-R', '-W', '-E', '-S', '-P', '-y', '--yes'),
  ...withValues('-c', '--config', '--import-map', '--cert', '--location', '--seed', '--ext', '--preload'),
};

/** `deno x [FLAGS] NAME` and `dx NAME`: an npm package, unless the name says something else. */
export function readDenoPackage(all: readonly string[], from: PastedFrom): Promise<Pasted> {
  const { words } = readOtherFlags('deno x', all, denoFlags, /^--/);
  const [name = ''] = words;
  const isNamed = /^(?:npm|jsr|https?):/.test(name) || isPath(name) || name === '';
  return readDeno(
    [...all.slice(0, all.length - words.length), isNamed ? name : `npm:${name}`, ...words.slice(1)],
    from,
  );
}

/** `deno run [FLAGS] SCRIPT`. The permissions are those of the workload. */
export async function readDeno(all: readonly string[], from: PastedFrom): Promise<Pasted> {
  const { given, words } = readOtherFlags('deno run', all, denoFlags, /^--/);
  const [script = '', ...args] = words;
  const note = 'the permissions of deno have no effect: the workload has a permission profile instead';
  const notes = given.some(([flag]) => /^--(?:allow|deny)-/.test(flag)) ? [note] : [];
  if (script.startsWith('npm:')) {
    const name = script.slice('npm:'.length).replace(/^\//, '');
    // A path behind the version names a program: npm:@scope/server@1/stdio
    const [, spec = name, program] = /^((?:@[^/]+\/)?[^/]+)(?:\/(.*))?$/s.exec(name) ?? [];
    const image = packageImage('npx', spec, program === '' ? undefined : program);
    return { request: { image, cmd_arguments: args }, notes };
  }
  if (/^(?:jsr:|https?:)/.test(script)) {
    throw invalid(
      `deno loads ${script.replace(/\?.*$/, '')} from a place that ToolHive does not install from`,
      {
        hint: 'use the npm package of the server: thv run npx://NAME',
      },
    );
  }
  const found = await readScript(
    'deno',
    words,
    from,
    await readEnvFiles(valuesOf(given, '--env-file'), from),
  );
  return { ...found, notes: [...found.notes, ...notes] };
}

/** `python [FLAGS] SCRIPT`. */
export async function readPython(all: readonly string[], from: PastedFrom): Promise<Pasted> {
  const known = {
    ...switches(...'uBIsSEOqvdbP'.split('').map((letter) => `-${letter}`), '-OO'),
    ...withValues('-X', '-W'),
  };
  const { given, words } = readOtherFlags('python', all, known);
  const options = new Map<string, readonly [string, string]>([
    ['-u', ['PYTHONUNBUFFERED', '1']],
    ['-O', ['PYTHONOPTIMIZE', '1']],
    ['-OO', ['PYTHONOPTIMIZE', '2']],
  ]);
  const env = given.flatMap(([flag, value]) => {
    if (flag === '-X' && /^utf8(?:=1)?$/.test(value)) return [['PYTHONUTF8', '1'] as const];
    if (flag === '-W') return [['PYTHONWARNINGS', value] as const];
    return [options.get(flag)].filter((option) => option !== undefined);
  });
  return readScript('python', words, from, Object.fromEntries(env));
}

async function readScript(
  program: string,
  words: readonly string[],
  from: PastedFrom,
  env: Record<string, string>,
): Promise<Pasted> {
  if (words.length === 0) throw invalid(`the script for ${program} is missing`);
  const { request, notes } = await readLocalPath(words, from);
  const env_vars = { ...env, ...request.env_vars };
  return { request: { ...request, ...(Object.keys(env_vars).length === 0 ? {} : { env_vars }) }, notes };
}

/** Later files replace the values of earlier ones. */
export async function readEnvFiles(
  paths: readonly string[],
  from: PastedFrom,
): Promise<Record<string, string>> {
  const all = await Promise.all(
    paths.map(async (path) => readDotenv(await from.readFile(absolutePath(path, from)))),
  );
  return Object.assign({}, ...all) as Record<string, string>;
}
