// @suite published-servers
import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { AdoptionResult, UndoneAdoption } from '@toolhive/contract/adoption';
import { clientApplications } from '@toolhive/contract/client-application';
import type { ClientName } from '@toolhive/contract/client-application';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clientPrograms, installedProgram, serverName, untried } from './testing/client-programs.ts';
import type { ClientProgram } from './testing/client-programs.ts';
import { makeUser } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { openUsedHomes } from './testing/used-homes.ts';

const server = ['npx', '-y', 'toolhive-test-servers', 'echo'];
const tried = Object.entries(clientPrograms) as [ClientName, ClientProgram][]; // of a record with these keys

/** The largest packages have 400 MB. */
const installTimeoutMs = 600_000;
const clientTimeoutMs = 120_000;

const homes = openUsedHomes({}, { harmless: ['unmanaged-servers.json'], withSecretStore: true });
afterAll(() => homes[Symbol.asyncDispose]());

const folders = new Map<string, string>();
beforeAll(async () => {
  for (const [id, { package: wanted }] of tried) folders.set(id, await installedProgram(wanted));
}, installTimeoutMs);

/** Runs a client in a directory. Ends it as soon as it has said what was asked for. */
async function say(
  { home, env }: User,
  id: ClientName,
  {
    words,
    project = 'project',
    input = '',
    until,
  }: { words: readonly string[]; project?: string; input?: string; until?: RegExp },
): Promise<string> {
  const directory = join(home, project);
  await mkdir(directory, { recursive: true });
  const { program = '', env: own = {} } = clientPrograms[id] ?? {};
  const child = spawn(program, words, {
    cwd: directory,
    env: { ...own, ...env, PATH: [folders.get(id), env['PATH']].join(delimiter) },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let said = '';
  const hear = (chunk: Buffer): void => {
    said += stripVTControlCharacters(chunk.toString());
    if (until?.test(said) === true) child.stdin.end();
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  child.stdin.on('error', () => {}); // a program that does not read has ended
  child.stdin.write(input);
  if (until === undefined) child.stdin.end();
  await new Promise((resolve) => child.once('close', resolve));
  return said;
}

/** Adds the server as users do, and lets the client write what it writes at its first start. */
async function addServer(user: User, id: ClientName): Promise<void> {
  const { file, add, text } = clientPrograms[id] ?? { file: '' };
  const path = join(user.home, file);
  if (text !== undefined) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text(server));
  }
  if (add !== undefined) await say(user, id, { words: [...add, ...server] });
  await listOf(user, id);
}

async function listOf(user: User, id: ClientName): Promise<string> {
  const { list, input, connected } = clientPrograms[id] ?? {};
  if (list === undefined) return '';
  // A client that answers to messages ends with its input.
  return say(user, id, {
    words: list,
    ...(input === undefined || connected === undefined ? {} : { input, until: /"id":2/ }),
  });
}

const json = async <Result>(user: User, ...words: string[]): Promise<Result> =>
  JSON.parse(await user.mustThv(...words, '--format', 'json')) as Result;

test('every client is tried, or has a reason', () => {
  const ids = clientApplications.map(({ id }) => id);

  expect([...Object.keys(clientPrograms), ...Object.keys(untried)].toSorted()).toEqual(ids.toSorted());
});

describe.each(tried)('%s', (id, { file, connected, list }) => {
  // A client without a list says nothing.
  const shown = connected ?? (list === undefined ? /^$/ : new RegExp(`^ +${serverName} `, 'm'));

  test(
    'connects to the adopted server that its own command has added, and gets its file back',
    { timeout: clientTimeoutMs },
    async () => {
      await using user = await homes.take();
      await addServer(user, id);
      const path = join(user.home, file);
      const before = await readFile(path, 'utf8');

      const { servers } = await json<AdoptionResult>(user, 'adopt', id, '--yes');
      const adopted = await readFile(path, 'utf8');
      const listed = await listOf(user, id);
      const undone = await json<UndoneAdoption>(user, 'adopt', '--undo', id, '--yes');

      expect(before).toContain('toolhive-test-servers');
      expect(servers).toMatchObject([{ workload: serverName }]);
      expect(servers[0]?.problem).toBeUndefined();
      expect(adopted).not.toContain('toolhive-test-servers');
      expect(listed).toMatch(shown);
      expect(undone.files).toMatchObject([{ restored: 'file' }]);
      expect(await readFile(path, 'utf8')).toBe(before);
    },
  );
});

describe('the notes about trust are true:', () => {
  let user: User;
  let said: string;
  beforeAll(async () => {
    user = await makeUser();
    const [command, ...args] = server;
    const files = {
      '.gemini/settings.json': JSON.stringify({ mcpServers: { [serverName]: { command, args } } }),
      'project/.mcp.json': JSON.stringify({ mcpServers: { [serverName]: { command, args } } }),
      'project/.codex/config.toml': `[mcp_servers.${serverName}]\ncommand = "npx"\nargs = ${JSON.stringify(args)}\n`,
    };
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(user.home, name)), { recursive: true });
      await writeFile(join(user.home, name), text);
    }
    const outcome = await user.thv('adopt', '--yes', '--project', join(user.home, 'project'));
    said = outcome.stderr;
  }, clientTimeoutMs);
  afterAll(() => user[Symbol.asyncDispose]());

  test(
    'Gemini CLI disables servers in a folder that is not trusted',
    { timeout: clientTimeoutMs },
    async () => {
      const untrusted = { ...user, env: { ...user.env, GEMINI_CLI_TRUST_WORKSPACE: 'false' } };
      const listed = await say(untrusted, 'gemini-cli', { words: ['mcp', 'list'], project: 'elsewhere' });

      expect(listed).toMatch(/echo: .* - Disabled/);
      expect(said).toContain('Gemini CLI disables all servers in a folder that you do not trust.');
    },
  );

  test(
    'Claude Code asks for the approval of a server in a project',
    { timeout: clientTimeoutMs },
    async () => {
      const listed = await say(user, 'claude-code', { words: ['mcp', 'list'] });

      expect(listed).toMatch(/echo: .* Pending approval/);
      expect(said).toContain('Claude Code asks for your approval');
    },
  );

  test(
    'Codex ignores the servers of a project that is not trusted',
    { timeout: clientTimeoutMs },
    async () => {
      const listed = await say(user, 'codex', { words: ['mcp', 'list'] });

      expect(listed).not.toContain('/mcp');
      expect(said).toContain('Codex ignores the .codex/config.toml of a project that you do not trust.');
    },
  );
});
