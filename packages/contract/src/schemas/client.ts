import * as z from 'zod';
import { GroupName } from './names.ts';

/** A path for each operating system, relative to the user's home directory, with `/` as separator. */
export interface SystemPaths {
  linux: string;
  darwin: string;
  windows: string;
}

/** The machine and the user whose clients these are. */
export interface ClientPlace {
  /** As Node.js names it. */
  platform: string;
  home: string;
  env: Readonly<Record<string, string | undefined>>;
}

/** A variable that moves the beginning of a path. */
export interface Move {
  variable: string;
  /** The beginning that the value of the variable replaces. Empty for the home directory. */
  replaces: SystemPaths;
  /** The part between the value and the rest of the path. */
  below?: string;
}

/** The absolute path on a machine, with the separator `/`. Client variables precede system variables. */
export function clientPath(paths: SystemPaths, moves: readonly Move[], place: ClientPlace): string {
  const { platform, home, env } = place;
  const system = platform === 'win32' ? 'windows' : platform === 'darwin' ? 'darwin' : 'linux';
  const path = paths[system];
  for (const { variable, replaces, below } of [...moves, ...systemMoves]) {
    const beginning = replaces[system];
    const value = env[variable] ?? '';
    const isBelow = beginning === '' || path === beginning || path.startsWith(`${beginning}/`);
    // A relative path would mean another file in each directory.
    if (!isBelow || !/^(?:\/|[A-Za-z]:[\\/])/.test(value)) continue;
    const rest = path.slice(beginning.length).replace(/^\//, '');
    return [value.replace(/[\\/]+$/, ''), below, rest].filter(Boolean).join('/');
  }
  return `${home}/${path}`;
}

/** All places where a client's file can be on a machine, the preferred ones first. */
export function clientPaths(
  { config, otherConfigs, moves }: Pick<ClientApplication, 'config' | 'otherConfigs' | 'moves'>,
  place: ClientPlace,
): string[] {
  const { preferred = [], others = [] } = otherConfigs;
  return [...preferred, config, ...others]
    .map((paths) => clientPath(paths, moves, place))
    .filter((path) => !path.includes(nowhere));
}

/**
 * The client's file: in the first directory that exists, or in the usual one, with the usual name unless only the other one
 * exists.
 */
export function chosenClientPath(
  application: ClientApplication,
  place: ClientPlace,
  exists: (path: string) => boolean,
): string {
  const { config, moves, otherFile } = application;
  const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/'));
  const path =
    clientPaths(application, place).find((each) => exists(folderOf(each))) ??
    clientPath(config, moves, place);
  const other = otherFile === undefined ? path : `${folderOf(path)}/${otherFile}`;
  return !exists(path) && exists(other) ? other : path;
}

/** The transport between a client and a workload. */
export type ClientTransport = 'sse' | 'streamable-http';

/** The facts that ToolHive needs to find a client and to write its configuration file. */
export interface ClientApplication {
  id: ClientName;
  product: string;
  /** The first version that supports streamable HTTP, if known. */
  since: string | undefined;
  config: SystemPaths;
  /** The file in other installations of the client, which count before the usual one or only without it. */
  otherConfigs: OtherPlaces;
  /** A second name of the file, which counts if only that one exists. */
  otherFile: string | undefined;
  format: 'json' | 'yaml' | 'toml';
  /** The path of keys to the servers, from the outermost. Each is a literal key, including dots. */
  pointer: readonly string[];
  /** The same in files of a later version, which are recognized by it. */
  laterPointer: readonly string[] | undefined;
  /** A map uses server names as keys. A list contains objects with a name. */
  storage: 'map' | 'list';
  /** The field with the URL. A transport that is missing is not supported: the entry starts `thv proxy stdio` instead. */
  urlKeys: Readonly<Partial<Record<ClientTransport, string>>>;
  /** The value of the field for the transport. Undefined for clients without this field. */
  types: Readonly<Record<ClientTransport | 'stdio', string | undefined>> | undefined;
  /** The name of that field. */
  typeKey: string;
  /** The field around URL and type, if entries have one. */
  wrapper: string | undefined;
  /** Whether an entry has its command and the arguments in one list. */
  hasCommandList: boolean;
  /** The field with the name of an entry, if entries have one. */
  nameKey: string | undefined;
  /** Additional fields of every new entry. */
  extra: Readonly<Record<string, boolean | number | readonly string[]>>;
  /** Its files in a project. */
  projectFiles: readonly ProjectFile[];
  /** Other files with servers beside that of the user. ToolHive writes none there. */
  otherSections: readonly ProjectFile[];
  /** The path of keys to a map of directories, whose values contain the servers of one project each. */
  projects: readonly string[] | undefined;
  /** The variables that move its files. */
  moves: readonly Move[];
  /** If this path exists, the client is installed. */
  detection: { kind: 'file' | 'directory'; path: SystemPaths };
  /** For its own page in the documentation, and for users after an adoption. Undefined for clients without a page. */
  guide: ClientGuide | undefined;
}

/** Paths beside the usual one. */
export interface OtherPlaces {
  preferred?: readonly SystemPaths[];
  others?: readonly SystemPaths[];
}

/** A section with servers in another file of a client. */
export interface ProjectFile {
  /**
   * Relative to the project, or to the directory of the user's file. `*` at the start of its name, or instead of the name of
   * its directory, matches any name.
   */
  file: string;
  /** See `ClientApplication.pointer`. */
  pointer: readonly string[];
}

/** How users of a client notice a change of its configuration file. In Markdown without links. */
export interface ClientGuide {
  /** Its name in sentences. */
  name: string;
  /** The way to make the client read the file again, in a sentence. */
  apply: string;
  /** Why its servers could still be missing, in a sentence. */
  note?: string;
  /** The same, for the servers of a project. */
  projectNote?: string;
}

/** A row contains only the differences from the defaults in `application`. */
interface Row {
  id: string;
  product: string;
  since?: string;
  directory: SystemPaths;
  otherDirectories?: OtherPlaces;
  file: string;
  otherFile?: string;
  pointer?: readonly string[];
  laterPointer?: readonly string[];
  storage?: ClientApplication['storage'];
  /** One field for both transports, or those of the supported ones. */
  urlKey?: string | ClientApplication['urlKeys'];
  /** The client's name for streamable HTTP, or false if its entries have no type. */
  streamableHttp?: string | false;
  /** The client's name for SSE. */
  sse?: string;
  /** The client's name for servers that it starts. None by default, because most clients see that there is a command. */
  stdio?: string;
  typeKey?: string;
  wrapper?: string;
  hasCommandList?: true;
  nameKey?: string;
  extra?: ClientApplication['extra'];
  /** Files with the pointer of the user's file are only named. */
  projectFiles?: readonly (string | ProjectFile)[];
  otherSections?: readonly ProjectFile[];
  projects?: readonly string[];
  moves?: readonly Move[];
  detectedBy?: 'file';
  /** The directory that shows that the client is installed, if it is not that of the file. */
  detectedAt?: SystemPaths;
  guide?: ClientGuide;
}

const everywhere = (path: string): SystemPaths => ({ linux: path, darwin: path, windows: path });

/** A path that no operating system has. */
const nowhere = '\u0000';

/** The system variables for all programs. */
const systemMoves: readonly Move[] = [
  { variable: 'XDG_CONFIG_HOME', replaces: { linux: '.config', darwin: '.config', windows: nowhere } },
  { variable: 'APPDATA', replaces: { linux: nowhere, darwin: nowhere, windows: 'AppData/Roaming' } },
  { variable: 'LOCALAPPDATA', replaces: { linux: nowhere, darwin: nowhere, windows: 'AppData/Local' } },
];

/** Moves the settings in editors based on Visual Studio Code. */
const movedEditor: readonly Move[] = [
  {
    variable: 'VSCODE_APPDATA',
    replaces: {
      linux: '.config',
      darwin: 'Library/Application Support',
      windows: 'AppData/Roaming',
    },
  },
];

/** The same in Visual Studio Code, which can also keep all its files in one directory (portable mode). */
const movedCode = (editor: string): readonly Move[] => [
  {
    variable: 'VSCODE_PORTABLE',
    replaces: {
      linux: `.config/${editor}`,
      darwin: `Library/Application Support/${editor}`,
      windows: `AppData/Roaming/${editor}`,
    },
    below: 'user-data',
  },
  ...movedEditor,
];

/** The directory of user settings in editors based on Visual Studio Code. */
const userFolder = (editor: string, below = ''): SystemPaths => ({
  linux: `.config/${editor}/User${below}`,
  darwin: `Library/Application Support/${editor}/User${below}`,
  windows: `AppData/Roaming/${editor}/User${below}`,
});

const onLinux = (path: string): SystemPaths => ({ linux: path, darwin: nowhere, windows: nowhere });

/** A Flathub program's configuration directory. */
const flatpak = (id: string, below: string): SystemPaths => onLinux(`.var/app/${id}/config/${below}`);

/** The user settings in Visual Studio Code builds from other publishers. */
const otherBuilds = (below = ''): readonly SystemPaths[] => [
  userFolder('VSCodium', below),
  userFolder('Code - OSS', below),
  flatpak('com.visualstudio.code', `Code/User${below}`),
  flatpak('com.vscodium.codium', `VSCodium/User${below}`),
  flatpak('com.visualstudio.code-oss', `Code - OSS/User${below}`),
];

/** An extension can be in other editors that are based on Visual Studio Code. */
const otherEditors = (extension: string): OtherPlaces => {
  const below = `/globalStorage/${extension}/settings`;
  return { others: [...otherBuilds(below), userFolder('Cursor', below), userFolder('Windsurf', below)] };
};

const extensionSettings = (extension: string): SystemPaths =>
  userFolder('Code', `/globalStorage/${extension}/settings`);

const dotConfig = (name: string, windows: string): SystemPaths => ({
  ...everywhere(`.config/${name}`),
  windows,
});

/** The settings of editors based on Visual Studio Code, in a project. */
const settingsFiles = (...pointer: string[]): ProjectFile[] => [
  { file: '.vscode/settings.json', pointer },
  { file: '*.code-workspace', pointer: ['settings', ...pointer] },
];

/** Before version 1.102, servers were in the settings. A key can contain the next one. */
const earlierServers = [['mcp', 'servers'], ['mcp.servers']] as const;
const earlierSections = earlierServers.map((pointer) => ({ file: 'settings.json', pointer }));
/** The user's other Visual Studio Code files, beside the default profile. */
const codeSections = [...earlierSections, { file: 'profiles/*/mcp.json', pointer: ['servers'] }];

const amp = { file: 'settings.json', pointer: ['amp.mcpServers'] } as const;
const ampSettings = dotConfig('amp/settings.json', 'AppData/Roaming/amp/settings.json');

const codex = {
  file: 'config.toml',
  pointer: ['mcp_servers'],
  urlKey: { 'streamable-http': 'url' },
  streamableHttp: false,
} as const;

const rows = [
  {
    id: 'roo-code',
    product: 'VS Code Roo Code extension',
    projectFiles: ['.roo/mcp.json'],
    since: '3.19.2',
    directory: extensionSettings('rooveterinaryinc.roo-cline'),
    otherDirectories: otherEditors('rooveterinaryinc.roo-cline'),
    file: 'mcp_settings.json',
    moves: movedCode('Code'),
    streamableHttp: 'streamable-http',
  },
  {
    id: 'cline',
    product: 'VS Code Cline extension',
    since: '3.17.10',
    directory: extensionSettings('saoudrizwan.claude-dev'),
    otherDirectories: otherEditors('saoudrizwan.claude-dev'),
    file: 'cline_mcp_settings.json',
    moves: movedCode('Code'),
    streamableHttp: 'streamableHttp',
  },
  {
    id: 'vscode-insider',
    product: 'Visual Studio Code Insiders',
    otherSections: codeSections,
    directory: userFolder('Code - Insiders'),
    file: 'mcp.json',
    moves: movedCode('Code - Insiders'),
    pointer: ['servers'],
  },
  {
    id: 'vscode',
    product: 'Visual Studio Code',
    projectFiles: ['.vscode/mcp.json', ...earlierServers.flatMap((pointer) => settingsFiles(...pointer))],
    otherSections: codeSections,
    since: '1.102',
    directory: userFolder('Code'),
    otherDirectories: { others: otherBuilds() },
    file: 'mcp.json',
    moves: movedCode('Code'),
    pointer: ['servers'],
    guide: {
      name: 'VS Code',
      apply: 'Run the command **MCP: List Servers** and start the server, or reload the window.',
      note: 'VS Code asks whether you trust a new or changed server before its first start. Another profile has its own servers, unless it uses those of the default profile.',
    },
  },
  {
    id: 'cursor',
    since: '0.50.0',
    product: 'Cursor editor',
    projectFiles: ['.cursor/mcp.json'],
    directory: everywhere('.cursor'),
    file: 'mcp.json',
    guide: {
      name: 'Cursor',
      apply: 'Restart Cursor, or switch the server off and on in its settings.',
    },
  },
  {
    id: 'claude-code',
    product: 'Claude Code CLI',
    projectFiles: ['.mcp.json'],
    projects: ['projects'],
    since: '1.0.27',
    directory: everywhere(''),
    file: '.claude.json',
    moves: [{ variable: 'CLAUDE_CONFIG_DIR', replaces: everywhere('') }],
    detectedBy: 'file',
    guide: {
      name: 'Claude Code',
      apply: 'Start a new session.',
      projectNote:
        'Claude Code asks for your approval before it uses a server in the `.mcp.json` of a project.',
    },
  },
  {
    id: 'windsurf',
    product: 'Windsurf IDE',
    directory: everywhere('.codeium/windsurf'),
    file: 'mcp_config.json',
    urlKey: 'serverUrl',
    guide: {
      name: 'Windsurf',
      apply: 'Restart Windsurf, or refresh the list of MCP servers in Cascade.',
    },
  },
  {
    id: 'windsurf-jetbrains',
    product: 'Windsurf plugin for JetBrains IDEs',
    directory: everywhere('.codeium'),
    file: 'mcp_config.json',
    urlKey: 'serverUrl',
  },
  {
    id: 'amp-cli',
    product: 'Sourcegraph Amp CLI',
    projectFiles: ['.amp/settings.json'],
    directory: dotConfig('amp', 'AppData/Roaming/amp'),
    ...amp,
    moves: [{ variable: 'AMP_SETTINGS_FILE', replaces: ampSettings }],
  },
  {
    id: 'amp-vscode',
    product: 'Sourcegraph Amp for VS Code',
    projectFiles: settingsFiles('amp.mcpServers'),
    directory: userFolder('Code'),
    otherDirectories: { others: otherBuilds() },
    ...amp,
    moves: movedCode('Code'),
  },
  {
    id: 'amp-vscode-insider',
    product: 'Sourcegraph Amp for VS Code Insiders',
    directory: userFolder('Code - Insiders'),
    ...amp,
    moves: movedCode('Code - Insiders'),
  },
  {
    id: 'amp-cursor',
    product: 'Sourcegraph Amp for Cursor',
    directory: userFolder('Cursor'),
    ...amp,
    moves: movedEditor,
  },
  {
    id: 'amp-windsurf',
    product: 'Sourcegraph Amp for Windsurf',
    directory: userFolder('Windsurf'),
    ...amp,
    moves: movedEditor,
  },
  {
    id: 'lm-studio',
    since: '0.3.17',
    product: 'LM Studio application',
    directory: everywhere('.lmstudio'),
    file: 'mcp.json',
  },
  {
    id: 'goose',
    product: 'Goose AI agent',
    directory: dotConfig('goose', 'AppData/Block/goose'),
    moves: [
      {
        variable: 'GOOSE_PATH_ROOT',
        replaces: dotConfig('goose', 'AppData/Block/goose'),
        below: 'config',
      },
    ],
    file: 'config.yaml',
    pointer: ['extensions'],
    urlKey: 'uri',
    streamableHttp: 'streamable_http',
    nameKey: 'name',
    extra: { enabled: true, timeout: 60 },
  },
  {
    id: 'trae',
    product: 'Trae IDE',
    projectFiles: ['.trae/mcp.json'],
    directory: userFolder('Trae'),
    file: 'mcp.json',
    moves: movedEditor,
    streamableHttp: false,
  },
  {
    id: 'continue',
    product: 'Continue.dev IDE plugins',
    projectFiles: [
      { file: '.continue/mcpServers/*.yaml', pointer: ['mcpServers'] },
      { file: '.continue/mcpServers/*.yml', pointer: ['mcpServers'] },
    ],
    since: '1.0.14 (VS Code), 1.0.23 (JetBrains)',
    directory: everywhere('.continue'),
    moves: [{ variable: 'CONTINUE_GLOBAL_DIR', replaces: everywhere('.continue') }],
    file: 'config.yaml',
    storage: 'list',
    streamableHttp: 'streamable-http',
    nameKey: 'name',
  },
  {
    id: 'codex',
    product: 'OpenAI Codex CLI, app, and IDE extension',
    projectFiles: ['.codex/config.toml'],
    directory: everywhere('.codex'),
    moves: [{ variable: 'CODEX_HOME', replaces: everywhere('.codex') }],
    ...codex,
    guide: {
      name: 'Codex',
      apply: 'Start a new session.',
      projectNote: 'Codex ignores the `.codex/config.toml` of a project that you do not trust.',
    },
  },
  {
    id: 'claude-desktop',
    product: 'Claude Desktop',
    directory: {
      linux: '.config/Claude',
      darwin: 'Library/Application Support/Claude',
      windows: 'AppData/Roaming/Claude',
    },
    // Windows redirects these files for Microsoft Store programs.
    otherDirectories: {
      preferred: [
        {
          linux: nowhere,
          darwin: nowhere,
          windows: 'AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude',
        },
      ],
    },
    file: 'claude_desktop_config.json',
    urlKey: {},
    streamableHttp: false,
    guide: {
      name: 'Claude Desktop',
      apply: 'Quit Claude Desktop completely, and then start the application again.',
      note: 'Claude Desktop only starts commands, so its entries start `thv proxy stdio`.',
    },
  },
  {
    id: 'gemini-cli',
    product: 'Gemini CLI',
    projectFiles: ['.gemini/settings.json'],
    directory: everywhere('.gemini'),
    moves: [{ variable: 'GEMINI_CLI_HOME', replaces: everywhere('') }],
    file: 'settings.json',
    urlKey: { sse: 'url', 'streamable-http': 'httpUrl' },
    streamableHttp: false,
    guide: {
      name: 'Gemini CLI',
      apply: 'Start a new session.',
      note: 'Gemini CLI disables all servers in a folder that you do not trust.',
    },
  },
  {
    id: 'qwen-code',
    product: 'Qwen Code',
    projectFiles: ['.qwen/settings.json'],
    directory: everywhere('.qwen'),
    file: 'settings.json',
    urlKey: { sse: 'url', 'streamable-http': 'httpUrl' },
    streamableHttp: false,
  },
  {
    id: 'zed',
    product: 'Zed editor',
    projectFiles: ['.zed/settings.json'],
    directory: dotConfig('zed', 'AppData/Roaming/Zed'),
    otherDirectories: { others: [flatpak('dev.zed.Zed', 'zed')] },
    file: 'settings.json',
    pointer: ['context_servers'],
    urlKey: { 'streamable-http': 'url' },
    streamableHttp: false,
    guide: {
      name: 'Zed',
      apply: 'Restart Zed.',
    },
  },
  {
    id: 'opencode',
    product: 'OpenCode',
    projectFiles: ['opencode.json', 'opencode.jsonc'],
    directory: everywhere('.config/opencode'),
    file: 'opencode.json',
    otherFile: 'opencode.jsonc',
    pointer: ['mcp'],
    laterPointer: ['mcp', 'servers'],
    streamableHttp: 'remote',
    sse: 'remote',
    stdio: 'local',
    hasCommandList: true,
    extra: { enabled: true },
    guide: {
      name: 'OpenCode',
      apply: 'Start a new session.',
    },
  },
  {
    id: 'kiro',
    product: 'Kiro IDE and CLI',
    projectFiles: ['.kiro/settings/mcp.json'],
    directory: everywhere('.kiro/settings'),
    file: 'mcp.json',
    streamableHttp: false,
    detectedAt: everywhere('.kiro'),
  },
  {
    id: 'antigravity',
    product: 'Antigravity IDE',
    directory: everywhere('.gemini/antigravity'),
    file: 'mcp_config.json',
    urlKey: 'serverUrl',
    streamableHttp: false,
  },
  {
    id: 'antigravity-cli',
    product: 'Antigravity CLI',
    projectFiles: ['.agents/mcp_config.json'],
    directory: everywhere('.gemini/config'),
    file: 'mcp_config.json',
    urlKey: 'serverUrl',
    streamableHttp: false,
  },
  {
    id: 'copilot-cli',
    product: 'GitHub Copilot CLI',
    projectFiles: ['.github/mcp.json'],
    directory: everywhere('.copilot'),
    moves: [{ variable: 'COPILOT_HOME', replaces: everywhere('.copilot') }],
    file: 'mcp-config.json',
    stdio: 'local',
    extra: { tools: ['*'] },
    guide: {
      name: 'Copilot CLI',
      apply: 'Start a new session.',
      note: '`copilot mcp list` shows all configured servers, also those that do not work.',
    },
  },
  {
    id: 'factory',
    product: 'Factory Droid',
    projectFiles: ['.factory/mcp.json'],
    directory: everywhere('.factory'),
    file: 'mcp.json',
    urlKey: { 'streamable-http': 'url' },
    stdio: 'stdio',
    extra: { disabled: false },
  },
  {
    id: 'kimi-cli',
    product: 'Kimi CLI',
    directory: everywhere('.kimi'),
    file: 'mcp.json',
    streamableHttp: false,
  },
  {
    id: 'kimi-code',
    product: 'Kimi Code CLI',
    projectFiles: ['.kimi-code/mcp.json'],
    directory: everywhere('.kimi-code'),
    moves: [{ variable: 'KIMI_CODE_HOME', replaces: everywhere('.kimi-code') }],
    file: 'mcp.json',
    streamableHttp: false,
  },
  {
    id: 'mistral-vibe',
    product: 'Mistral Vibe',
    projectFiles: ['.vibe/config.toml'],
    directory: everywhere('.vibe'),
    moves: [{ variable: 'VIBE_HOME', replaces: everywhere('.vibe') }],
    file: 'config.toml',
    pointer: ['mcp_servers'],
    storage: 'list',
    urlKey: { 'streamable-http': 'url' },
    streamableHttp: 'streamable-http',
    stdio: 'stdio',
    typeKey: 'transport',
    nameKey: 'name',
  },
  {
    id: 'qoder',
    product: 'Qoder IDE',
    directory: { ...everywhere('.qoder'), windows: 'AppData/Roaming/Qoder/SharedClientCache' },
    file: 'mcp.json',
  },
  {
    id: 'qoder-cli',
    product: 'Qoder CLI',
    directory: everywhere('.qoder'),
    file: 'settings.json',
  },
  {
    id: 'vscode-server',
    product: 'Visual Studio Code Server, on the remote machine',
    otherSections: codeSections,
    directory: everywhere('.vscode-server/data/User'),
    file: 'mcp.json',
    pointer: ['servers'],
  },
  {
    id: 'xcode-codex',
    product: 'Codex in Xcode',
    directory: everywhere('Library/Developer/Xcode/CodingAssistant/codex'),
    ...codex,
  },
  {
    id: 'copilot-xcode',
    product: 'GitHub Copilot for Xcode',
    directory: everywhere('.config/github-copilot/xcode'),
    file: 'mcp.json',
    pointer: ['servers'],
  },
  {
    id: 'cline-cli',
    product: 'Cline CLI',
    directory: everywhere('.cline/data/settings'),
    file: 'cline_mcp_settings.json',
    streamableHttp: 'streamableHttp',
    stdio: 'stdio',
    wrapper: 'transport',
    detectedAt: everywhere('.cline'),
  },
  {
    id: 'junie',
    product: 'JetBrains Junie',
    projectFiles: ['.junie/mcp/mcp.json'],
    directory: everywhere('.junie/mcp'),
    file: 'mcp.json',
    urlKey: {},
    streamableHttp: false,
    detectedAt: everywhere('.junie'),
  },
  {
    id: 'kilo-code',
    product: 'VS Code Kilo Code extension',
    projectFiles: ['.kilocode/mcp.json'],
    directory: extensionSettings('kilocode.kilo-code'),
    otherDirectories: otherEditors('kilocode.kilo-code'),
    file: 'mcp_settings.json',
    moves: movedCode('Code'),
    streamableHttp: 'streamable-http',
  },
  {
    id: 'amazon-q',
    product: 'Amazon Q Developer',
    projectFiles: ['.amazonq/mcp.json'],
    directory: everywhere('.aws/amazonq'),
    file: 'mcp.json',
    // Versions before September 2025 only start commands.
    urlKey: {},
    streamableHttp: false,
  },
] as const satisfies readonly Row[];

/** The supported clients. */
export const ClientName = z.enum(rows.map(({ id }) => id)).meta({
  id: 'ClientName',
  description: 'A supported client.',
  examples: ['vscode', 'claude-code'],
});
export type ClientName = z.infer<typeof ClientName>;

/** The variables that can move client files. */
export const clientVariables: readonly string[] = [
  ...new Set(
    [...systemMoves, ...rows.flatMap((row: Row) => row.moves ?? [])].map(({ variable }) => variable),
  ),
];

/** All clients, in the order of listings. */
export const clientApplications: readonly ClientApplication[] = rows.map((row) => application(row.id, row));

function application(id: ClientName, row: Row): ClientApplication {
  const fileIn = (directory: string): string => [directory, row.file].filter(Boolean).join('/');
  const filesIn = (directories: readonly SystemPaths[] = []): SystemPaths[] =>
    directories.map((paths) => mapPaths(paths, fileIn));
  const config = mapPaths(row.directory, fileIn);
  const pointer = row.pointer ?? ['mcpServers'];
  const { streamableHttp = 'http', sse = 'sse', stdio, urlKey = 'url' } = row;
  return {
    id,
    product: row.product,
    since: row.since,
    config,
    otherConfigs: {
      preferred: filesIn(row.otherDirectories?.preferred),
      others: filesIn(row.otherDirectories?.others),
    },
    otherFile: row.otherFile,
    format: formatOf(row.file) ?? 'json',
    pointer,
    laterPointer: row.laterPointer,
    storage: row.storage ?? 'map',
    urlKeys: typeof urlKey === 'string' ? { sse: urlKey, 'streamable-http': urlKey } : urlKey,
    types: streamableHttp === false ? undefined : { sse, 'streamable-http': streamableHttp, stdio },
    typeKey: row.typeKey ?? 'type',
    wrapper: row.wrapper,
    hasCommandList: row.hasCommandList ?? false,
    nameKey: row.nameKey,
    extra: row.extra ?? {},
    projectFiles: (row.projectFiles ?? []).map((file) =>
      typeof file === 'string' ? { file, pointer } : file,
    ),
    otherSections: row.otherSections ?? [],
    projects: row.projects,
    moves: row.moves ?? [],
    detection:
      row.detectedBy === 'file'
        ? { kind: 'file', path: config }
        : { kind: 'directory', path: row.detectedAt ?? row.directory },
    guide: row.guide,
  };
}

/** The format of a file. Undefined if its name does not tell. */
export function formatOf(file: string): ClientApplication['format'] | undefined {
  if (/\.ya?ml$/.test(file)) return 'yaml';
  if (file.endsWith('.toml')) return 'toml';
  return /\.(?:jsonc?|code-workspace)$/.test(file) ? 'json' : undefined;
}

function mapPaths(paths: SystemPaths, change: (path: string) => string): SystemPaths {
  return { linux: change(paths.linux), darwin: change(paths.darwin), windows: change(paths.windows) };
}

const groups = z.array(GroupName).meta({
  description: 'The groups whose workloads are in the configuration file of the client.',
  examples: [['default']],
});

const problem = z
  .string()
  .optional()
  .meta({
    description: 'The reason why ToolHive could not update the configuration file, for users.',
    examples: ['/home/ada/.cursor/mcp.json is read-only'],
  });

/** A registered client. */
export const RegisteredClient = z
  .object({ name: ClientName, groups, problem })
  .meta({ id: 'RegisteredClient', description: 'A registered client.' });
export type RegisteredClient = z.infer<typeof RegisteredClient>;

/** Whether a client is installed and registered. */
export const ClientStatus = z
  .object({
    client_type: ClientName,
    product: z.string().meta({ description: 'The name of the product.', examples: ['Visual Studio Code'] }),
    installed: z.boolean().meta({ description: 'Whether the client is installed on this machine.' }),
    registered: z
      .boolean()
      .meta({ description: 'Whether the client is registered with a group, or with all groups.' }),
    problem,
  })
  .meta({ id: 'ClientStatus', description: 'Whether a client is installed and registered.' });
export type ClientStatus = z.infer<typeof ClientStatus>;

export const ClientStatuses = z
  .object({ clients: z.array(ClientStatus) })
  .meta({ id: 'ClientStatuses', description: 'All supported clients, in a fixed order.' });
export type ClientStatuses = z.infer<typeof ClientStatuses>;

const ofClient = {
  client_type: ClientName,
  path: z.string().meta({ description: 'The configuration file.', examples: ['/home/ada/.cursor/mcp.json'] }),
};

/** A server that a client starts or reaches itself. */
export const UnmanagedServer = z
  .object({
    ...ofClient,
    name: z.string().meta({ description: 'The name in the file.', examples: ['github'] }),
    command: z
      .array(z.string())
      .optional()
      .meta({
        description: 'The program and its arguments, without credentials.',
        examples: [['npx', '-y', 'server']],
      }),
    url: z
      .string()
      .optional()
      .meta({ description: 'The URL, without credentials.', examples: ['https://mcp.example.com/mcp'] }),
    credentials: z.array(z.string()).meta({
      description: 'The variables and headers whose values in the file look like credentials.',
      examples: [['GITHUB_TOKEN']],
    }),
  })
  .meta({ id: 'UnmanagedServer', description: 'A server that a client starts or reaches without ToolHive.' });
export type UnmanagedServer = z.infer<typeof UnmanagedServer>;

export const UnmanagedServers = z
  .object({
    servers: z.array(UnmanagedServer),
    problems: z
      .array(
        z.object({ ...ofClient, problem: z.string().meta({ description: 'Why the file cannot be read.' }) }),
      )
      .meta({ description: 'The files that cannot be read.' }),
  })
  .meta({
    id: 'UnmanagedServers',
    description: "The servers in clients' own configuration files that do not lead to a workload.",
  });
export type UnmanagedServers = z.infer<typeof UnmanagedServers>;

/** A request to register a client. */
export const CreateClient = z.object({ name: ClientName, groups: groups.optional() }).meta({
  id: 'CreateClient',
  description: 'A request to register a client.',
  examples: [{ name: 'vscode', groups: ['default'] }],
});
export type CreateClient = z.infer<typeof CreateClient>;

export const CreatedClient = z
  .object({ name: ClientName, groups: groups.optional() })
  .meta({ id: 'CreatedClient', description: 'The client, and its new groups.' });
export type CreatedClient = z.infer<typeof CreatedClient>;

/** Several clients. */
export const BulkClients = z
  .object({
    names: z.array(ClientName).min(1, 'name at least one client'),
    groups: groups.optional(),
  })
  .meta({
    id: 'BulkClients',
    description: 'Several clients.',
    examples: [{ names: ['vscode', 'cursor'], groups: ['default'] }],
  });
export type BulkClients = z.infer<typeof BulkClients>;
