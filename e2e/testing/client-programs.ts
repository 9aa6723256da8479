import { execFile } from 'node:child_process';
import { mkdir, mkdtempDisposable, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ClientName } from '@toolhive/contract/client-application';
import { cacheDirectory } from '@toolhive/runtime/testing/uv';

/** A client whose program needs no account to add and list servers. */
export interface ClientProgram {
  /** On npm, pinned: commands and their output change with the version. */
  package: string;
  program: string;
  /** Its file, relative to the home directory. */
  file: string;
  /** Writes a server to the file: the arguments of its own command before the command of the server. Undefined if it has none. */
  add?: readonly string[];
  /** The file that a user writes, if the program has no command. */
  text?: (server: readonly string[]) => string;
  /** Shows the servers. Undefined if it has no such command. */
  list?: readonly string[];
  /** The input of the list. */
  input?: string;
  /** The line for a connected server. Undefined if the list does not say whether a server is connected. */
  connected?: RegExp;
  env?: NodeJS.ProcessEnv;
}

/** The name of the server in all clients. */
export const serverName = 'echo';

export const clientPrograms: Partial<Record<ClientName, ClientProgram>> = {
  'claude-code': {
    package: '@anthropic-ai/claude-code@2.1.332',
    program: 'claude',
    file: '.claude.json',
    add: ['mcp', 'add', '--scope', 'user', serverName, '--'],
    list: ['mcp', 'list'],
    connected: /^echo: .* ✔ Connected$/m,
  },
  codex: {
    package: '@openai/codex@0.171.0',
    program: 'codex',
    file: '.codex/config.toml',
    add: ['mcp', 'add', serverName, '--'],
    // Its command shows only the configuration. Its server for editors connects.
    list: ['app-server'],
    input: [
      { id: 1, method: 'initialize', params: { clientInfo: { name: 'test', version: '1' } } },
      { method: 'initialized' },
      { id: 2, method: 'mcpServerStatus/list', params: {} },
    ]
      .map((message) => `${JSON.stringify(message)}\n`)
      .join(''),
    connected: /^\{"id":2,.*"name":"echo",.*"serverInfo":\{"name":"test-echo"/m,
  },
  'gemini-cli': {
    package: '@google/gemini-cli@0.61.0',
    program: 'gemini',
    file: '.gemini/settings.json',
    add: ['mcp', 'add', '--scope', 'user', serverName],
    list: ['mcp', 'list'],
    connected: /^✓ echo: .* - Connected$/m,
    env: { GEMINI_CLI_TRUST_WORKSPACE: 'true' },
  },
  'qwen-code': {
    package: '@qwen-code/qwen-code@0.24.4',
    program: 'qwen',
    file: '.qwen/settings.json',
    add: ['mcp', 'add', '--scope', 'user', serverName],
    list: ['mcp', 'list'],
    connected: /^✓ echo: .* - Connected$/m,
  },
  opencode: {
    package: 'opencode-ai@1.18.33',
    program: 'opencode',
    file: '.config/opencode/opencode.json',
    text: (command) => JSON.stringify({ mcp: { [serverName]: { type: 'local', command, enabled: true } } }),
    list: ['mcp', 'list'],
    connected: /✓ echo connected$/m,
  },
  'copilot-cli': {
    package: '@github/copilot@1.0.102',
    program: 'copilot',
    file: '.copilot/mcp-config.json',
    add: ['mcp', 'add', serverName, '--'],
    list: ['mcp', 'list'],
  },
  factory: {
    package: 'droid@0.215.0',
    program: 'droid',
    file: '.factory/mcp.json',
    add: ['mcp', 'add', serverName, '--'],
    list: ['mcp', 'list'],
    connected: /^ +echo +http +connected /m,
  },
  'qoder-cli': {
    package: '@qoder-ai/qodercli@1.1.52',
    program: 'qodercli',
    file: '.qoder/settings.json',
    add: ['mcp', 'add', '--scope', 'user', serverName, '--'],
    list: ['mcp', 'list'],
    connected: /^✓ echo: .* - Connected/m,
  },
  'cline-cli': {
    package: 'cline@3.0.65',
    program: 'cline',
    file: '.cline/data/settings/cline_mcp_settings.json',
    add: ['mcp', 'add', '--yes', serverName, '--'],
  },
};

const needsScreen = 'is not on npm, or has no program for a terminal';
const hasNoCommand = 'has no command for its servers';

/** Why the other clients are not tried. */
export const untried: Partial<Record<ClientName, string>> = {
  'roo-code': needsScreen,
  cline: needsScreen,
  'vscode-insider': needsScreen,
  vscode: needsScreen,
  cursor: needsScreen,
  windsurf: needsScreen,
  'windsurf-jetbrains': needsScreen,
  'amp-cli': 'needs an account',
  'amp-vscode': needsScreen,
  'amp-vscode-insider': needsScreen,
  'amp-cursor': needsScreen,
  'amp-windsurf': needsScreen,
  'lm-studio': needsScreen,
  goose: needsScreen,
  trae: needsScreen,
  continue: hasNoCommand,
  'claude-desktop': needsScreen,
  zed: needsScreen,
  kiro: 'needs an account',
  antigravity: needsScreen,
  'antigravity-cli': 'needs an account',
  'kimi-cli': 'is archived',
  'kimi-code': hasNoCommand,
  'mistral-vibe': hasNoCommand,
  qoder: needsScreen,
  'vscode-server': needsScreen,
  'xcode-codex': needsScreen,
  'copilot-xcode': needsScreen,
  junie: needsScreen,
  'kilo-code': needsScreen,
  'amazon-q': 'needs an account',
};

/** The directory with the programs of a package. Installs the package once, with its scripts, which put the program in its place. */
export async function installedProgram(wanted: string): Promise<string> {
  const place = join(cacheDirectory, `client-${wanted.replaceAll(/[@/]/g, '_')}`);
  if (!(await exists(place))) {
    await mkdir(cacheDirectory, { recursive: true });
    await using staged = await mkdtempDisposable(join(cacheDirectory, 'staged-'));
    const folder = join(staged.path, 'client');
    await mkdir(folder);
    const words = ['install', '--prefix', folder, '--no-audit', '--no-fund', wanted];
    await promisify(execFile)('npm', words).catch((cause: unknown) => {
      throw new Error(`the package registry, not a client: cannot install ${wanted}`, { cause });
    });
    await rename(folder, place).catch(async (error: unknown) => {
      if (!(await exists(place))) throw error; // another test run was faster
    });
  }
  return join(place, 'node_modules/.bin');
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
