import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { clientApplications, ClientName } from '@toolhive/contract/client-application';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ClientFiles } from './client-files.ts';
import type { Entry } from './entry.ts';

let home: string;
let clients: ClientFiles;
let problems: [client: ClientName, problem: string | undefined][];

const openClients = (directory = home): ClientFiles =>
  new ClientFiles({
    home: directory,
    platform: 'linux',
    record: join(directory, '.state', 'client-entries.json'),
    onProblem: (client, problem) => problems.push([client, problem]),
    log: pino({ level: 'silent' }),
  });

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'thv-home-'));
  problems = [];
  clients = openClients();
});
afterEach(() => rm(home, { recursive: true, force: true }));

const cursorFile = () => join(home, '.cursor', 'mcp.json');
const recordFile = () => join(home, '.state', 'client-entries.json');

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  await utimes(path, new Date('2026-01-01'), new Date('2026-01-01'));
}

const anEntry = (fields: Partial<Entry> = {}): Entry => ({
  name: 'fetch',
  url: 'http://localhost:8081/sse#fetch',
  transport: 'sse',
  ...fields,
});

const wanted = (client: ClientName, ...entries: Entry[]): ReadonlyMap<ClientName, readonly Entry[]> =>
  new Map([[client, entries]]);
const none: ReadonlyMap<ClientName, readonly Entry[]> = new Map();

const serversIn = async (path: string): Promise<unknown> =>
  (JSON.parse(await readFile(path, 'utf8')) as { mcpServers: unknown }).mcpServers;
const record = async (): Promise<unknown> => JSON.parse(await readFile(recordFile(), 'utf8'));

describe('applications', () => {
  test('are found by their files and folders', async () => {
    await mkdir(join(home, '.cursor'));
    await mkdir(join(home, '.codeium/windsurf'), { recursive: true });
    await mkdir(join(home, '.config/Code/User'), { recursive: true });
    await mkdir(join(home, '.claude.json')); // no file
    await writeFile(join(home, '.continue'), ''); // no folder

    expect(await clients.installed()).toEqual(
      new Set(['cursor', 'windsurf', 'windsurf-jetbrains', 'vscode', 'amp-vscode']),
    );
  });

  test.each([
    ['darwin', 'Library/Application Support/Code/User', '.config/goose/config.yaml'],
    ['win32', 'AppData/Roaming/Code/User', 'AppData/Block/goose/config.yaml'],
  ] as const)('are looked for where %s has them', async (platform, editor, goose) => {
    await mkdir(join(home, editor), { recursive: true });
    await mkdir(join(home, dirname(goose)), { recursive: true });
    clients = new ClientFiles({ home, platform, record: recordFile(), log: pino({ level: 'silent' }) });

    await clients.reconcile(wanted('goose', anEntry()));

    expect(await clients.installed()).toEqual(new Set(['vscode', 'amp-vscode', 'goose']));
    expect(await readFile(join(home, goose), 'utf8')).toContain('uri: http://localhost:8081/sse#fetch');
  });

  test.each<[ClientName, NodeJS.Platform, NodeJS.ProcessEnv, string]>([
    ['claude-code', 'linux', { CLAUDE_CONFIG_DIR: 'moved' }, 'moved/.claude.json'],
    ['vscode', 'linux', { XDG_CONFIG_HOME: 'moved' }, 'moved/Code/User/mcp.json'],
    [
      'roo-code',
      'linux',
      { XDG_CONFIG_HOME: 'moved' },
      'moved/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json',
    ],
    ['vscode', 'linux', { XDG_CONFIG_HOME: 'other', VSCODE_APPDATA: 'moved' }, 'moved/Code/User/mcp.json'],
    ['vscode', 'linux', { VSCODE_PORTABLE: 'moved' }, 'moved/user-data/User/mcp.json'],
    ['vscode-insider', 'win32', { VSCODE_PORTABLE: 'moved' }, 'moved/user-data/User/mcp.json'],
    [
      'cline',
      'darwin',
      { VSCODE_PORTABLE: 'moved', VSCODE_APPDATA: 'other' },
      'moved/user-data/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json',
    ],
    ['cursor', 'linux', { VSCODE_PORTABLE: 'moved' }, '.cursor/mcp.json'],
    ['vscode', 'darwin', { XDG_CONFIG_HOME: 'moved' }, 'Library/Application Support/Code/User/mcp.json'],
    ['vscode', 'win32', { APPDATA: 'moved' }, 'moved/Code/User/mcp.json'],
    ['amp-cli', 'darwin', { XDG_CONFIG_HOME: 'moved' }, 'moved/amp/settings.json'],
    ['amp-cli', 'linux', { AMP_SETTINGS_FILE: 'moved/mine.json' }, 'moved/mine.json'],
    ['goose', 'linux', { XDG_CONFIG_HOME: 'moved/' }, 'moved/goose/config.yaml'],
    ['goose', 'linux', { GOOSE_PATH_ROOT: 'moved' }, 'moved/config/config.yaml'],
    ['continue', 'linux', { CONTINUE_GLOBAL_DIR: 'moved' }, 'moved/config.yaml'],
    ['cursor', 'linux', { XDG_CONFIG_HOME: 'moved' }, '.cursor/mcp.json'],
  ])('are where their variables say: %s on %s with %j', (client, platform, variables, path) => {
    const env = Object.fromEntries(
      Object.entries(variables).map(([name, value = '']) => [name, join(home, value)]),
    );

    clients = new ClientFiles({ home, platform, env, record: recordFile(), log: pino({ level: 'silent' }) });

    expect(clients.pathOf(client)).toBe(join(home, path));
  });

  const store = 'AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude';
  const extension = 'User/globalStorage/saoudrizwan.claude-dev/settings';
  test.each<[ClientName, NodeJS.Platform, folders: string[], path: string]>([
    ['vscode', 'linux', ['.config/VSCodium/User'], '.config/VSCodium/User/mcp.json'],
    ['vscode', 'linux', ['.config/Code - OSS/User'], '.config/Code - OSS/User/mcp.json'],
    ['vscode', 'linux', ['.config/Code/User', '.config/VSCodium/User'], '.config/Code/User/mcp.json'],
    [
      'vscode',
      'linux',
      ['.var/app/com.visualstudio.code/config/Code/User'],
      '.var/app/com.visualstudio.code/config/Code/User/mcp.json',
    ],
    [
      'vscode',
      'darwin',
      ['.var/app/com.visualstudio.code/config/Code/User'],
      'Library/Application Support/Code/User/mcp.json',
    ],
    ['zed', 'linux', ['.var/app/dev.zed.Zed/config/zed'], '.var/app/dev.zed.Zed/config/zed/settings.json'],
    [
      'cline',
      'linux',
      [`.config/Cursor/${extension}`],
      `.config/Cursor/${extension}/cline_mcp_settings.json`,
    ],
    ['claude-desktop', 'win32', [store], `${store}/claude_desktop_config.json`],
    ['claude-desktop', 'win32', [store, 'AppData/Roaming/Claude'], `${store}/claude_desktop_config.json`],
    [
      'claude-desktop',
      'win32',
      ['AppData/Roaming/Claude'],
      'AppData/Roaming/Claude/claude_desktop_config.json',
    ],
  ])('are where another installation has them: %s on %s with %j', async (client, platform, folders, path) => {
    for (const folder of folders) await mkdir(join(home, folder), { recursive: true });

    clients = new ClientFiles({ home, platform, record: recordFile(), log: pino({ level: 'silent' }) });

    expect(clients.pathOf(client)).toBe(join(home, path));
    expect((await clients.installed()).has(client)).toBe(folders.includes(dirname(path)));
  });

  test('can have a file in each of their installations', async () => {
    const files = ['.config/Code/User/mcp.json', '.config/VSCodium/User/mcp.json'].map((file) =>
      join(home, file),
    );
    for (const file of files) await write(file, '{}');
    await mkdir(join(home, '.config/Code - OSS/User'), { recursive: true });

    expect(clients.pathsOf('vscode')).toEqual(files);
  });

  test.each(['relative', '', './x'])('ignore a variable that is no absolute path: %j', (value) => {
    const env = { XDG_CONFIG_HOME: value, CLAUDE_CONFIG_DIR: value };

    clients = new ClientFiles({
      home,
      platform: 'linux',
      env,
      record: recordFile(),
      log: pino({ level: 'silent' }),
    });

    expect(clients.pathOf('claude-code')).toBe(join(home, '.claude.json'));
    expect(clients.pathOf('vscode')).toBe(join(home, '.config/Code/User/mcp.json'));
  });

  test('that do not exist are reported, and no folder is made', async () => {
    await clients.reconcile(wanted('cursor', anEntry()));

    expect(clients.problems.get('cursor')).toBe(
      `Cursor editor is not installed: ${join(home, '.cursor')} not found`,
    );
    expect(await readdir(home)).toEqual([]);
  });
});

describe('a check', () => {
  test('passes when there is no file, no application, or a good file', async () => {
    await write(join(home, '.lmstudio/mcp.json'), '{} // fine\n');
    await mkdir(join(home, '.cursor'));

    for (const client of ['lm-studio', 'cursor', 'trae'] as const) await clients.check(client);

    expect(await readdir(join(home, '.lmstudio'))).toEqual(['mcp.json']);
    expect(await readdir(join(home, '.cursor'))).toEqual([]);
  });

  test('fails when the file cannot be edited', async () => {
    await write(cursorFile(), '{"mcpServers": \n  nonsense}');

    await expect(clients.check('cursor')).rejects.toMatchObject({
      kind: 'conflict',
      message: `${cursorFile()}, line 2, column 3: this is not JSON: invalid symbol`,
    });
  });

  test('fails when the file is read-only', async () => {
    await write(cursorFile(), '{}');
    await chmod(cursorFile(), 0o444);

    await expect(clients.check('cursor')).rejects.toMatchObject({ kind: 'conflict' });
  });
});

describe('a reconcile', () => {
  test('writes what is wanted, and takes it out again', async () => {
    const text = '{\n  "mcpServers": {\n    "mine": { "command": "x" } // mine\n  }\n}\n';
    await write(cursorFile(), text);

    await clients.reconcile(wanted('cursor', anEntry(), anEntry({ name: 'other' })));
    const written = await readFile(cursorFile(), 'utf8');
    await clients.reconcile(wanted('cursor', anEntry()));
    const one = await readFile(cursorFile(), 'utf8');
    await clients.reconcile(none);

    expect(written).toContain('"other"');
    expect(one).not.toContain('"other"');
    expect(one).toContain('http://localhost:8081/sse#fetch');
    expect(await readFile(cursorFile(), 'utf8')).toBe(text);
    expect(await record()).toEqual({ clients: {} });
    expect(problems).toEqual([]);
  });

  test('writes every application', async () => {
    for (const { config } of clientApplications)
      await mkdir(dirname(join(home, config.linux)), { recursive: true });

    await clients.reconcile(new Map(ClientName.options.map((client) => [client, [anEntry()]])));

    expect(clients.problems).toEqual(new Map());
    for (const { config, urlKeys } of clientApplications) {
      const written = await readFile(join(home, config.linux), 'utf8');
      expect(written).toMatch(
        urlKeys.sse === undefined
          ? /"proxy",\s*"stdio",\s*"fetch"/
          : new RegExp(`${urlKeys.sse}"?: "?http://localhost:8081/sse#fetch`),
      );
    }
  });

  test('takes entries out of applications that are not registered any more', async () => {
    await write(cursorFile(), '{}');
    await write(join(home, '.lmstudio/mcp.json'), '{}');
    await clients.reconcile(wanted('cursor', anEntry()));

    await openClients().reconcile(wanted('lm-studio', anEntry()));

    expect(await serversIn(cursorFile())).toEqual({});
    expect(await serversIn(join(home, '.lmstudio/mcp.json'))).toHaveProperty('fetch');
  });

  test('touches nothing when there is nothing to do', async () => {
    await write(cursorFile(), '{}');
    await clients.reconcile(wanted('cursor', anEntry()));
    const before = await Promise.all(
      [cursorFile(), dirname(cursorFile()), recordFile()].map((path) => stat(path)),
    );

    await clients.reconcile(wanted('cursor', anEntry()));
    await openClients().reconcile(wanted('cursor', anEntry()));

    const after = await Promise.all(
      [cursorFile(), dirname(cursorFile()), recordFile()].map((path) => stat(path)),
    );
    expect(after.map(({ ino, mtimeMs }) => ({ ino, mtimeMs }))).toEqual(
      before.map(({ ino, mtimeMs }) => ({ ino, mtimeMs })),
    );
  });

  test('leaves alone what people and their applications add to an entry', async () => {
    await write(cursorFile(), '{}');
    await clients.reconcile(wanted('cursor', anEntry()));
    const text = (await readFile(cursorFile(), 'utf8')).replace('"sse"', '"sse", "disabled": true');
    await write(cursorFile(), text);

    await clients.reconcile(wanted('cursor', anEntry()));

    expect(await readFile(cursorFile(), 'utf8')).toBe(text);
  });

  test('follows a workload to another port and another transport', async () => {
    await write(cursorFile(), '{}');
    await clients.reconcile(wanted('cursor', anEntry()));

    await openClients().reconcile(
      wanted('cursor', anEntry({ url: 'http://localhost:9090/mcp', transport: 'streamable-http' })),
    );

    expect(await serversIn(cursorFile())).toEqual({
      fetch: { url: 'http://localhost:9090/mcp', type: 'http' },
    });
    expect(await record()).toEqual({ clients: { cursor: { fetch: ['http://localhost:9090/mcp'] } } });
  });

  test('restores a removed entry', async () => {
    await write(cursorFile(), '{}');
    await clients.reconcile(wanted('cursor', anEntry()));
    await write(cursorFile(), '{"z": 1}');

    await clients.reconcile(wanted('cursor', anEntry()));

    expect(await serversIn(cursorFile())).toHaveProperty('fetch');
  });

  test('sees an edit from the time in which it was not watching', async () => {
    await write(cursorFile(), '{}');
    await clients.reconcile(wanted('cursor', anEntry()));
    const text = await readFile(cursorFile(), 'utf8');
    await write(cursorFile(), text);
    await clients.reconcile(wanted('cursor', anEntry())); // remembers the file as it is
    await write(cursorFile(), text.replace('8081', '8082'));

    await clients.reconcile(wanted('cursor', anEntry()));

    expect(await readFile(cursorFile(), 'utf8')).toBe(text);
  });

  test('performs the last request, and tells all callers', async () => {
    await write(cursorFile(), '{}');

    await Promise.all(
      ['one', 'two', 'three', 'four'].map((name) => clients.reconcile(wanted('cursor', anEntry({ name })))),
    );

    expect(await serversIn(cursorFile())).toEqual({ four: { url: anEntry().url, type: 'sse' } });
  });

  test('leaves the other files alone with the problem of one', async () => {
    await write(cursorFile(), '{"mcpServers": []}');
    await write(join(home, '.lmstudio/mcp.json'), '{}');
    const both = new Map<ClientName, Entry[]>([
      ['cursor', [anEntry()]],
      ['lm-studio', [anEntry()]],
    ]);

    await clients.reconcile(both);
    expect(await readFile(cursorFile(), 'utf8')).toBe('{"mcpServers": []}');
    expect(await serversIn(join(home, '.lmstudio/mcp.json'))).toHaveProperty('fetch');
    await write(cursorFile(), '{}');
    await clients.reconcile(both);

    expect(await serversIn(cursorFile())).toHaveProperty('fetch');
    expect(problems).toEqual([
      [
        'cursor',
        `${cursorFile()}, line 1, column 16: mcpServers is not an object; fix the file. ToolHive does not change it until then`,
      ],
      ['cursor', undefined],
    ]);
  });

  test('keeps a link a link', async () => {
    await write(join(home, 'dotfiles/cursor.json'), '{}');
    await mkdir(join(home, '.cursor'));
    await symlink('../dotfiles/cursor.json', cursorFile());

    await clients.reconcile(wanted('cursor', anEntry()));

    expect(await serversIn(join(home, 'dotfiles/cursor.json'))).toHaveProperty('fetch');
    expect(await readdir(join(home, '.cursor'))).toEqual(['mcp.json']);
  });
});

describe('entries of other people', () => {
  test.each([
    ['starts a command', { command: 'uvx', args: ['fetch'] }],
    ['leads to another machine', { url: 'https://fetch.example/sse' }],
    ['leads to another port of this one', { url: 'http://localhost:3000/mcp' }],
    ['is no entry at all', 12],
  ])('keep a name that we want when theirs %s', async (_what, entry) => {
    const text = JSON.stringify({ mcpServers: { fetch: entry } });
    await write(cursorFile(), text);

    await clients.reconcile(wanted('cursor', anEntry(), anEntry({ name: 'other' })));
    expect(clients.problems.get('cursor')).toBe(
      `${cursorFile()} already contains an entry fetch that ToolHive did not create. Rename one of the two`,
    );
    expect(await serversIn(cursorFile())).toMatchObject({ fetch: entry, other: {} });
    await clients.reconcile(none);

    expect(await readFile(cursorFile(), 'utf8')).toBe(text);
    expect(clients.problems).toEqual(new Map());
  });

  test.each([['http://localhost:8081/sse#fetch'], ['http://127.0.0.1:8081/mcp'], ['http://[::1]:8081/sse']])(
    'are ours when they lead to us, as %s',
    async (url) => {
      await write(cursorFile(), JSON.stringify({ mcpServers: { fetch: { url, type: 'sse' } } }));

      await clients.reconcile(wanted('cursor', anEntry()));
      expect(clients.problems).toEqual(new Map());
      expect(await serversIn(cursorFile())).toEqual({ fetch: { url: anEntry().url, type: 'sse' } });
      await clients.reconcile(none);

      expect(await serversIn(cursorFile())).toEqual({});
    },
  );

  test('are the problem of their names only, also while the files are being updated', async () => {
    await write(cursorFile(), JSON.stringify({ mcpServers: { taken: { url: 'https://mcp.example.com' } } }));
    const both = wanted('cursor', anEntry(), anEntry({ name: 'taken' }));
    await clients.reconcile(both);
    const over = new AbortController();
    const update = clients.reconcile(both).finally(() => over.abort());
    const seen = new Set<string | undefined>();
    while (!over.signal.aborted) {
      seen.add(clients.problemOf('cursor', 'fetch'));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await update;

    expect([...seen]).toEqual([undefined]);
    expect(clients.problemOf('cursor', 'taken')).toContain('already contains an entry taken');
  });

  test('are our entries that a user pointed elsewhere', async () => {
    const theirs = '{"mcpServers": {"fetch": {"url": "https://fetch.example/sse"}}}';
    await write(cursorFile(), '{}');
    await clients.reconcile(wanted('cursor', anEntry()));
    await write(cursorFile(), theirs);

    await clients.reconcile(none);

    expect(await readFile(cursorFile(), 'utf8')).toBe(theirs);
    expect(await record()).toEqual({ clients: {} });
  });
});

describe('the record', () => {
  test.each(['{"clients": ', '{"clients": {"cursor": 1}}', ''])(
    'that cannot be read (%s) is set aside',
    async (text) => {
      await write(recordFile(), text);
      await write(cursorFile(), '{}');

      await clients.reconcile(wanted('cursor', anEntry()));

      expect(await readFile(recordFile().replace('.json', '.set-aside'), 'utf8')).toBe(text);
      expect(await record()).toEqual({ clients: { cursor: { fetch: [anEntry().url] } } });
    },
  );

  test('that cannot be written keeps the files from being written', async () => {
    await write(cursorFile(), '{}');
    await clients.reconcile(none);
    await mkdir(join(recordFile(), 'in-the-way'), { recursive: true });

    await clients.reconcile(wanted('cursor', anEntry()));

    expect(clients.problems.get('cursor')).toContain(`cannot write ${recordFile()}: `);
    expect(await readFile(cursorFile(), 'utf8')).toBe('{}');
  });

  test('keeps what it has of applications that it does not know', async () => {
    await write(recordFile(), '{"clients": {"future": {"fetch": ["http://localhost:1/mcp"]}}}');
    await write(cursorFile(), '{}');

    await clients.reconcile(wanted('cursor', anEntry()));

    expect(await record()).toMatchObject({ clients: { future: { fetch: ['http://localhost:1/mcp'] } } });
  });
});
