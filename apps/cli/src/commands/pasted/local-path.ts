import { existsSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { invalid } from '@toolhive/contract/failure';
import type { Pasted, PastedFrom } from './pasted.ts';
import { commandText } from './run-command.ts';

/**
 * Translates the path of a server on this machine. A Go module is built from its directory. Node.js and Python
 * packages are only installed from their package registries, so for those the error has the command that runs
 * the files in a container. Throws `invalid`.
 */
export async function readLocalPath(
  [word = '', ...args]: readonly string[],
  { directory }: PastedFrom,
): Promise<Pasted> {
  const path = resolve(directory, word.replace(/^~(?=\/)/, homedir()));
  if (!existsSync(path))
    throw invalid(`${path} not found`, { hint: 'check the path, or name a published package' });
  const isDirectory = statSync(path).isDirectory();
  if (isDirectory && existsSync(join(path, 'go.mod')))
    return { request: { image: `go://${path}`, cmd_arguments: args }, notes: [] };
  const { mounted, image, command, variables } = isDirectory ? ofDirectory(path) : ofFile(path);
  const request = {
    name:
      basename(mounted)
        .replaceAll(/[^A-Za-z0-9-]+/g, '-')
        .replaceAll(/^-+|-+$/g, '') || 'local',
    image,
    volumes: [`${mounted}:/app:ro`],
    env_vars: variables,
    cmd_arguments: [...command, ...args],
  };
  throw invalid(`${path} cannot be installed in the sandbox: only Go modules are built from a directory`, {
    hint: `with Docker or Podman, run ${commandText(request)}`,
  });
}

interface InContainer {
  /** The directory that the container needs. */
  mounted: string;
  image: string;
  command: string[];
  variables: Record<string, string>;
}

const nodeImage = 'docker.io/library/node:24';
const uvImage = 'ghcr.io/astral-sh/uv:python3.13-bookworm';
/** The container's root is read-only, and so is the mounted directory. */
const uvVariables = {
  UV_CACHE_DIR: '/tmp/uv',
  UV_PROJECT_ENVIRONMENT: '/tmp/venv',
  UV_TOOL_DIR: '/tmp/tools',
};

function ofFile(path: string): InContainer {
  const mounted = ancestorWith(['package.json', 'pyproject.toml'], dirname(path)) ?? dirname(path);
  const inner = `/app/${relative(mounted, path).replaceAll('\\', '/')}`;
  const node = { mounted, image: nodeImage, variables: {} };
  const python = { mounted, image: uvImage, variables: uvVariables };
  if (/\.[cm]?[jt]s$/.test(path)) return { ...node, command: ['node', inner] };
  if (/\.(tgz|tar\.gz)$/.test(path))
    return { ...node, command: ['npx', '-y', inner], variables: { npm_config_cache: '/tmp/npm' } };
  if (path.endsWith('.py')) return { ...python, command: ['uv', 'run', '--script', inner] };
  const [name = ''] = basename(path).split('-');
  if (path.endsWith('.whl'))
    return { ...python, command: ['uvx', '--from', inner, name.replaceAll('_', '-')] };
  throw invalid(`${path} is not a server that ToolHive can run`, {
    hint: 'name a package (npx://, uvx://, go://), a container image, or a URL',
  });
}

function ofDirectory(path: string): InContainer {
  if (existsSync(join(path, 'package.json')))
    return { mounted: path, image: nodeImage, command: ['node', '/app'], variables: {} };
  if (existsSync(join(path, 'pyproject.toml'))) {
    const command = ['uv', 'run', '--directory', '/app', basename(path)];
    return { mounted: path, image: uvImage, command, variables: uvVariables };
  }
  throw invalid(`${path} has no go.mod, package.json, or pyproject.toml`, {
    hint: 'name the directory of the package',
  });
}

function ancestorWith(files: readonly string[], from: string): string | undefined {
  if (files.some((file) => existsSync(join(from, file)))) return from;
  const above = dirname(from);
  return above === from ? undefined : ancestorWith(files, above);
}
