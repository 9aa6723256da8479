import { open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ThvError, notFound, unavailable, unsupported } from '@toolhive/contract/failure';
import type { PackageSource } from '../../source.ts';
import type { Installer } from './installers.ts';
import { type Install, innerPath } from './install.ts';
import { type ToolResult, type Workshop, distrustIn, runTool } from './tool.ts';

const exactVersion = /^\d+\.\d+\.\d+(-[\w.-]+)?(\+[\w.-]+)?$/;

/** Packages of the npm registry. Their install scripts never run. */
export const npmInstaller: Installer = {
  isPinned: ({ version }) => version !== undefined && exactVersion.test(version),

  async resolve(source, folder, workshop) {
    const spec = specOf(source);
    const result = await npm(['view', spec, 'version', '--json'], folder, workshop);
    if (result.code !== 0) throw npmFailure(source, result);
    const version = newestOf(parseJson(result.stdout));
    if (version === undefined) throw notFound(`package ${spec} not found`);
    return version;
  },

  async install(source, folder, workshop) {
    // Without one of its own, npm would take the nearest folder above that has a package.json.
    await writeFile(join(folder, 'package.json'), '{ "private": true }\n');
    const result = await npm(
      ['install', ...installOptions, '--prefix', folder, specOf(source)],
      folder,
      workshop,
    );
    if (result.code !== 0) throw npmFailure(source, result);
    return describeInstall(source.name, folder);
  },
};

const installOptions =
  '--json --ignore-scripts --no-audit --no-fund --omit=dev --no-global --loglevel=http --no-update-notifier'.split(
    ' ',
  );

const specOf = ({ name, version }: PackageSource) => (version === undefined ? name : `${name}@${version}`);

async function npm(args: string[], folder: string, workshop: Workshop): Promise<ToolResult> {
  let downloads = 0;
  return runTool(
    {
      name: 'npm',
      args,
      cwd: folder,
      missing: 'install Node.js, which brings npm along: https://nodejs.org',
      onLine: (line) => {
        if (!/^npm http fetch GET 200 .*\.tgz/.test(line)) return;
        downloads += 1;
        workshop.report(`downloaded ${downloads === 1 ? 'one package' : `${downloads} packages`}`);
      },
    },
    workshop,
  );
}

/** What `npm view` prints: one version, or all that a range matches, oldest first. */
function newestOf(versions: unknown): string | undefined {
  const newest: unknown = Array.isArray(versions) ? versions.at(-1) : versions;
  return typeof newest === 'string' && exactVersion.test(newest) ? newest : undefined;
}

async function describeInstall(name: string, folder: string): Promise<Install> {
  const root = `node_modules/${name}`;
  const manifest = parseJson(await readFile(join(folder, root, 'package.json'), 'utf8'));
  const file = `${root}/${innerPath(name, chooseBin(name, field(manifest, 'bin')))}`;
  const started = (await isScriptOfNode(join(folder, file)))
    ? { command: 'node', args: [file] }
    : { command: file, args: [] };
  return { version: String(field(manifest, 'version')), ...started, readOnlyPaths: [] };
}

/** Which of a package's programs is the server: the only one, or the one named like the package. */
export function chooseBin(name: string, bin: unknown): string {
  const unscoped = name.replace(/^@[^/]*\//, '');
  const all = typeof bin === 'object' && bin !== null ? bin : { [unscoped]: bin };
  const bins = new Map(
    Object.entries(all).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
  const [only] = bins.values();
  const chosen = bins.size === 1 ? only : bins.get(unscoped);
  if (chosen !== undefined) return chosen;
  if (bins.size === 0) {
    throw unsupported(`package ${name} has no program to run`, {
      hint: 'it is a library rather than a server',
    });
  }
  throw unsupported(`package ${name} has several programs and none is called ${unscoped}`, {
    hint: `it has ${[...bins.keys()].join(', ')}; ask its author to name one like the package`,
  });
}

/** A few packages ship a native binary or a shell script as their program. */
async function isScriptOfNode(path: string): Promise<boolean> {
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(128), 0, 128, 0);
  const [firstLine = ''] = buffer.toString('latin1', 0, bytesRead).split('\n');
  return (
    !firstLine.startsWith('\x7fELF') && (!firstLine.startsWith('#!') || /\b(node|bun|deno)\b/.test(firstLine))
  );
}

const network =
  /^(ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|ENOTCACHED|E50[234])$/;

/** Says in a line what npm says in twenty. */
export function npmFailure(
  source: PackageSource,
  { stdout, stderr }: Pick<ToolResult, 'stdout' | 'stderr'>,
): ThvError {
  const { code, summary } = npmError(stdout, stderr);
  const distrust = distrustIn(summary);
  if (distrust !== undefined) return distrust;
  // npm says E404 for a version of an existing package that matches nothing, too.
  if (code === 'ETARGET' || (code === 'E404' && summary.startsWith('No match found'))) {
    return notFound(`version ${source.version ?? 'latest'} of package ${source.name} not found`);
  }
  if (code === 'E404') return notFound(`package ${source.name} not found`);
  if (network.test(code)) {
    return unavailable(`cannot reach the package registry: ${summary}`, {
      hint: 'check the network, the proxy settings and the registry in your .npmrc',
    });
  }
  if (code === 'ENOSPC') return unavailable(`no space left to install ${source.name}`);
  return unavailable(`npm could not install ${source.name}: ${summary}`);
}

function npmError(stdout: string, stderr: string): { code: string; summary: string } {
  const error = field(parseJson(stdout), 'error');
  const code = field(error, 'code') ?? /^npm (?:error|ERR!) code (\S+)$/m.exec(stderr)?.[1];
  const summary = field(error, 'summary');
  const [line = 'it gave no reason'] =
    typeof summary === 'string' && summary !== '' ? summary.split('\n') : usefulLines(stderr);
  return { code: typeof code === 'string' ? code : '', summary: line.replace(/^(FetchError|Error): /, '') };
}

const usefulLines = (stderr: string) =>
  stderr
    .split('\n')
    .flatMap((line) => /^npm (?:error|ERR!) (?!code |errno |syscall )(.+)$/.exec(line)?.[1] ?? []);

/** A field of an object that somebody else wrote; undefined if it is none. */
function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
