import { readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where version managers keep their tools, if not below the home directory. Their launchers on PATH read these. */
const roots = [
  'ASDF_CONFIG_FILE',
  'ASDF_DATA_DIR',
  'ASDF_DIR',
  'FNM_DIR',
  'FNM_MULTISHELL_PATH',
  'GOENV_ROOT',
  'MISE_CACHE_DIR',
  'MISE_CONFIG_DIR',
  'MISE_DATA_DIR',
  'MISE_GLOBAL_CONFIG_FILE',
  'MISE_STATE_DIR',
  'NODENV_ROOT',
  'NODENV_VERSION',
  'NVM_BIN',
  'NVM_DIR',
  'N_PREFIX',
  'PROTO_HOME',
  'PYENV_ROOT',
  'PYENV_VERSION',
  'RBENV_ROOT',
  'RTX_DATA_DIR',
  'VOLTA_HOME',
  'XDG_CACHE_HOME',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_STATE_HOME',
];

/** Programs that are started under the names of the tools that they manage. */
export const versionManagers = ['pyenv', 'asdf', 'mise', 'rtx', 'proto'];

/** The environment in which ToolHive starts a tool of the user's to ask for its place, outside of any sandbox. */
export function toolEnvironment(env: NodeJS.ProcessEnv): Record<string, string> {
  const names = ['PATH', ...roots];
  const found = names.flatMap((name) => {
    const value = env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { HOME: env['HOME'] ?? homedir(), ...Object.fromEntries(found) };
}

/**
 * The folders with the programs of all Python versions that version managers have installed, the oldest version first,
 * because it has the most prebuilt packages.
 */
export async function keptPythons(env: NodeJS.ProcessEnv): Promise<string[]> {
  const home = env['HOME'] ?? homedir();
  const data = env['XDG_DATA_HOME'] ?? join(home, '.local/share');
  const places = [
    join(env['PYENV_ROOT'] ?? join(home, '.pyenv'), 'versions'),
    join(env['ASDF_DATA_DIR'] ?? join(home, '.asdf'), 'installs/python'),
    join(env['MISE_DATA_DIR'] ?? join(data, 'mise'), 'installs/python'),
    join(env['RTX_DATA_DIR'] ?? join(data, 'rtx'), 'installs/python'),
    join(env['PROTO_HOME'] ?? join(home, '.proto'), 'tools/python'),
    env['UV_PYTHON_INSTALL_DIR'] ?? join(data, 'uv/python'),
  ];
  const found = await Promise.all(
    places.map(async (place) => {
      const names = await readdir(place).catch(() => []); // this manager is not used
      return names.flatMap((name) => {
        const [, version] = /^(?:cpython-)?(3\.\d{1,2}(?:\.\d{1,2})?)(?:$|-linux|-macos)/.exec(name) ?? [];
        const folder = join(place, name, 'bin');
        return version === undefined ? [] : [{ version, folder }];
      });
    }),
  );
  return found
    .flat()
    .toSorted((a, b) => a.version.localeCompare(b.version, 'en', { numeric: true }))
    .map(({ folder }) => folder);
}
