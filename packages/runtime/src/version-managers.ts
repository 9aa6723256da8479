import { homedir } from 'node:os';

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
