import { lstat, opendir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { field, npmName, readPackageFile, readPackageJson } from './installers/package-files.ts';
import type { Install } from './installers/install.ts';
import { COMPILED } from './restored-program.ts';

/** A directory with the code and data of the server's package, without its dependencies. */
export interface OwnDirectory {
  /** The path in the package's folder. Empty for the folder itself. */
  path: string;
  /** The names of its directories that belong to dependencies. */
  inner: string[];
}

/** The most that is copied for a workload. Larger packages stay read-only. */
const limits = { bytes: 64 * 1024 ** 2, files: 5_000 };

/**
 * The directories of a package that its server may write to. Undefined if there are none, or if they are too large. Only
 * the layout of the installers decides, and names that a package contains only choose among its own directories.
 */
export async function ownDirectories(folder: string, install: Install): Promise<OwnDirectory[] | undefined> {
  const program = install.command === 'node' ? (install.args[0] ?? '') : install.command;
  if (install.template !== undefined) {
    const { bundle } = install.template;
    const names = await readdir(join(folder, bundle));
    const own = [{ path: bundle, inner: names.filter((name) => dependencies.has(name)) }];
    return (await fits(placed(own))) ? own : undefined;
  }
  const [, npm] = /^(node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(program) ?? [];
  const [, tool] = /^(tools\/[^/]+)\/bin\/python$/.exec(program) ?? [];
  const paths =
    npm !== undefined
      ? [npm]
      : tool !== undefined
        ? await modulesOf(folder, tool)
        : program.startsWith('bin/')
          ? []
          : [''];
  const own: OwnDirectory[] = [];
  for (const path of paths) {
    const names = await readdir(join(folder, path)).catch(() => []);
    own.push({ path, inner: names.filter((name) => dependencies.has(name)) });
  }
  if (own.length === 0 || !(await fits(placed(own)))) return undefined;
  const all = [...own, ...(npm === undefined ? [] : await frameworksOf(folder, npm))];
  return all.length > own.length && (await fits(placed(all))) ? all : own;

  function placed(directories: readonly OwnDirectory[]): OwnDirectory[] {
    return directories.map((one) => ({ ...one, path: join(folder, one.path) }));
  }
}

/** The most frameworks that count as part of a server, and the most dependencies among which they are looked for. */
const MOST_FRAMEWORKS = 4;
const MOST_DEPENDENCIES = 200;

/**
 * The dependencies of a server that are servers for the most part, because they use the SDK of MCP themselves: they
 * write logs and data beside their own code, as a server does. One that is installed inside another package is not found.
 */
async function frameworksOf(folder: string, server: string): Promise<OwnDirectory[]> {
  const manifest = await readPackageJson(folder, join(server, 'package.json'));
  const found: OwnDirectory[] = [];
  for (const name of namesIn(field(manifest, 'dependencies')).slice(0, MOST_DEPENDENCIES)) {
    const path = `node_modules/${name}`;
    if (found.length === MOST_FRAMEWORKS || !npmName.test(name) || path === server) continue;
    const stat = await lstat(join(folder, path)).catch(() => undefined);
    if (stat?.isDirectory() !== true) continue;
    const inner = await readPackageJson(folder, `${path}/package.json`);
    const uses = [...namesIn(field(inner, 'dependencies')), ...namesIn(field(inner, 'peerDependencies'))];
    if (!uses.some((used) => sdk.test(used))) continue;
    const names = await readdir(join(folder, path));
    found.push({ path, inner: names.filter((entry) => dependencies.has(entry)) });
  }
  return found;
}

const sdk = /^@modelcontextprotocol\/(?:sdk|server|core)$/;

const namesIn = (list: unknown): string[] =>
  typeof list === 'object' && list !== null ? Object.keys(list) : [];

/** The directories of installers. */
const dependencies: ReadonlySet<string> = new Set(['node_modules', 'venv', 'tools']);

const importable = /^[A-Za-z_]\w*$/;

/** The import packages of a Python tool, as its record lists them. */
async function modulesOf(folder: string, tool: string): Promise<string[]> {
  const [python] = (await readdir(join(folder, tool, 'lib')).catch(() => [])).filter((name) =>
    /^python3\.\d+$/.test(name),
  );
  if (python === undefined) return [];
  const packages = join(tool, 'lib', python, 'site-packages');
  const name = tool.replace(/^tools\//, '');
  const normalized = (text: string): string => text.toLowerCase().replaceAll(/[-_.]+/g, '-');
  const info = (await readdir(join(folder, packages))).find(
    (entry) => entry.endsWith('.dist-info') && normalized(entry.split('-')[0] ?? '') === normalized(name),
  );
  if (info === undefined) return [];
  const record = (await readPackageFile(folder, join(packages, info, 'RECORD')))?.toString() ?? '';
  const names = new Set(record.split('\n').map((line) => line.split('/')[0] ?? ''));
  const found = await Promise.all(
    [...names]
      .filter((entry) => importable.test(entry) && entry !== COMPILED)
      .map(async (entry) => {
        const stat = await lstat(join(folder, packages, entry)).catch(() => undefined);
        return stat?.isDirectory() === true ? [join(packages, entry)] : [];
      }),
  );
  return found.flat().toSorted();
}

async function fits(directories: readonly OwnDirectory[]): Promise<boolean> {
  const left = { ...limits };
  const walk = async (path: string, inner: readonly string[]): Promise<void> => {
    for await (const entry of await opendir(path)) {
      if (inner.includes(entry.name) || entry.name === COMPILED) continue;
      left.files -= 1;
      if (left.files < 0 || left.bytes < 0) return;
      const place = join(path, entry.name);
      if (entry.isDirectory()) await walk(place, []);
      else left.bytes -= (await lstat(place)).size;
    }
  };
  for (const { path, inner } of directories) await walk(path, inner);
  return left.files >= 0 && left.bytes >= 0;
}
