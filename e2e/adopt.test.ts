import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Adoption, AdoptionPlan, AdoptionResult, UndoneAdoption } from '@toolhive/contract/adoption';
import { afterAll, expect, test } from 'vitest';
import { connectTo } from './testing/mcp.ts';
import { testPackage, testServer } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { openUsedHomes } from './testing/used-homes.ts';

const homes = openUsedHomes({}, { harmless: ['unmanaged-servers.json'], withSecretStore: true });
afterAll(() => homes[Symbol.asyncDispose]());

async function write(user: User, files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    const path = join(user.home, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}

const textsOf = async (user: User, files: Record<string, string>): Promise<Record<string, string>> =>
  Object.fromEntries(
    await Promise.all(
      Object.keys(files).map(async (name) => [name, await readFile(join(user.home, name), 'utf8')] as const),
    ),
  );

const json = async <Result>(user: User, ...words: string[]): Promise<Result> =>
  JSON.parse(await user.mustThv(...words, '--format', 'json')) as Result;

/** Every file below a directory. */
async function filesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

const echo = { command: 'npx', args: ['-y', 'toolhive-test-servers@1.0.0', 'echo'] };

test('the same server in several clients becomes one workload, and every file comes back to the byte', async () => {
  await using user = await homes.take();
  const files = {
    '.cursor/mcp.json': `{ // mine\n\t"mcpServers": {\n\t\t"echo": ${JSON.stringify(echo)},\n\t}\n}\n`,
    '.codex/config.toml': `model = "x" # mine\n\n[mcp_servers.echo]\ncommand = "npx"\nargs = ["-y", "toolhive-test-servers@1.0.0", "echo"]\n`,
    '.claude.json': `{"projects": {"${user.home}/project": {"mcpServers": {"echo": ${JSON.stringify(echo)}}}}}`,
    '.config/Claude/claude_desktop_config.json': JSON.stringify({ mcpServers: { echo } }),
  };
  await write(user, files);

  const plan = await json<AdoptionPlan>(user, 'adopt', '--dry-run');
  const untouched = await textsOf(user, files);
  const { servers } = await json<AdoptionResult>(user, 'adopt', '--yes');

  expect(untouched).toEqual(files);
  expect(plan.servers).toMatchObject([{ workload: 'echo', exists: false }]);
  expect(plan.servers[0]?.places.map(({ client_type }) => client_type).toSorted()).toEqual([
    'claude-code',
    'claude-desktop',
    'codex',
    'cursor',
  ]);
  expect(servers).toMatchObject([{ workload: 'echo' }]);
  expect(servers[0]?.problem).toBeUndefined();
  const adopted = await textsOf(user, files);
  const url = /http:\/\/localhost:\d+\/mcp/.exec(adopted['.cursor/mcp.json'] ?? '')?.[0] ?? '';
  expect(adopted['.codex/config.toml']).toContain(`url = "${url}"`);
  expect(adopted['.claude.json']).toContain(url);
  // This client only starts commands.
  expect(adopted['.config/Claude/claude_desktop_config.json']).toMatch(/"proxy","stdio","echo"/);
  await using client = await connectTo(url);
  expect((await client.call('echo', { message: 'hello' })).text).toBe('hello');

  const { adoptions } = await json<{ adoptions: Adoption[] }>(user, 'adopt', '--list');
  for (const { backup } of adoptions) expect((await stat(backup)).mode & 0o777).toBe(0o600);
  const undone = await json<UndoneAdoption>(user, 'adopt', '--undo', '--yes');

  expect(undone.files.map(({ restored }) => restored)).toEqual(['file', 'file', 'file', 'file']);
  expect(undone.stopped).toEqual(['echo']);
  expect(await textsOf(user, files)).toEqual(files);

  // The second time, the workload exists and keeps its name.
  const again = await json<AdoptionResult>(user, 'adopt', 'cursor', '--yes');
  expect(again.servers).toMatchObject([{ workload: 'echo', notes: [] }]);
  expect(await json(user, 'list')).toMatchObject([{ name: 'echo', status: 'running' }]);
});

test('a server that does not work in isolation stays as it is, with the reason', async () => {
  await using user = await homes.take();
  const files = {
    '.cursor/mcp.json': JSON.stringify({
      mcpServers: {
        good: echo,
        program: { command: '/bin/cat' },
        missing: { command: '/opt/program' },
        ends: { command: 'npx', args: ['-y', 'toolhive-test-servers', 'exit-at-once'] },
        unknown: { command: 'npx', args: ['-y', 'toolhive-no-such-package'] },
        off: { ...echo, disabled: true },
        risky: { ...echo, args: [...echo.args, '~/.ssh'] },
      },
    }),
  };
  await write(user, { ...files, '.ssh/id': 'mine' });

  const outcome = await user.thv('adopt', '--yes', '--format', 'json');

  const { servers } = JSON.parse(outcome.stdout) as AdoptionResult;
  const plan = await json<AdoptionPlan>(user, 'adopt', '--dry-run');
  const problems = Object.fromEntries(
    plan.servers.map(({ places: [place], problem }) => [place?.name, problem]),
  );
  expect(outcome.code).toBe(3);
  expect(servers.find(({ workload }) => workload === 'good')?.problem).toBeUndefined();
  const ended = servers.find(({ workload }) => workload === 'ends');
  expect(ended?.problem).not.toContain('next attempt');
  expect(ended?.hint).toContain('run thv import cursor ends'); // its workload is removed
  expect(ended?.hint).not.toContain('thv logs ends');
  expect(problems['program']).toContain('cannot be run in isolation');
  expect(problems['missing']).toContain('/opt/program not found');
  expect(servers.find(({ workload }) => workload === 'unknown')?.problem).toContain(
    'toolhive-no-such-package',
  );
  expect(problems['off']).toBe('it is disabled');
  expect(problems['risky']).toContain('dangerous access');
  const { mcpServers: after } = JSON.parse(await readFile(join(user.home, '.cursor/mcp.json'), 'utf8')) as {
    mcpServers: Record<string, object>;
  };
  const { mcpServers: before } = JSON.parse(files['.cursor/mcp.json']) as {
    mcpServers: Record<string, object>;
  };
  expect({ ...after, good: before['good'] }).toEqual(before);
  expect(after['good']).toHaveProperty('url');
  const workloads = await json<{ name: string }[]>(user, 'list', '--all');
  expect(workloads.map(({ name }) => name)).toEqual(['good']);
});

/** A credential that no other test has. */
const canary = (number: number): string => `CaNaRy${number}x7Qz`;

test('no credential stays in a file of a client, a log, an event, or an export', async () => {
  await using user = await homes.take();
  let count = 0;
  const next = (): string => canary((count += 1));
  const server = (...more: string[]) => ({ ...echo, args: [...echo.args, ...more] });
  const variables = [
    'API_KEY',
    'GITHUB_TOKEN',
    'DB_PASSWORD',
    'CLIENT_SECRET',
    'AWS_SECRET_ACCESS_KEY',
    'MY_PAT',
    'PASSPHRASE',
    'PRIVATE_KEY',
    'BEARER',
    'AUTHORIZATION',
    'apiKey',
    'X_AUTH',
    'SECRET_KEY',
    'ACCESS_TOKEN',
    'OPENAI_API_KEY',
    'NOTION_TOKEN',
  ];
  const prefixes = [
    'sk-',
    'sk-ant-',
    'ghp_',
    'github_pat_',
    'glpat-',
    'xoxb-',
    'AKIA',
    'AIza',
    'npm_',
    'hf_',
    'gsk_',
    'xai-',
    'pplx-',
    'tvly-',
    'ntn_',
    'lin_api_',
    'ATATT',
    'figd_',
    'pypi-',
    'sk_live_',
    'r8_',
    'hvs.',
    'GOCSPX-',
    'ya29.',
  ];
  const entries = {
    names: { ...server(), env: Object.fromEntries(variables.map((name) => [name, next()])) },
    formats: {
      ...server(),
      env: Object.fromEntries(prefixes.map((prefix, index) => [`VALUE_${index}`, prefix + next()])),
    },
    texts: {
      ...server(),
      env: {
        DATABASE_URL: `postgres://user:${next()}@db.example/app`,
        HEADERS: JSON.stringify({ Authorization: `Bearer ${next()}`, 'x-api-key': next() }),
        CONNECTION: `Server=db;User=sa;Password=${next()};`,
        AUTH_HEADER: `Basic ${next()}`,
      },
    },
    arguments: server(
      '--api-key',
      next(),
      `--token=${next()}`,
      '--header',
      `Authorization: Bearer ${next()}`,
      `postgresql://user:${next()}@db.example/app`,
      `--url=https://user:${next()}@api.example/`,
      `ghp_${next()}`,
      `https://api.example/mcp?apikey=${next()}`,
      '--password',
      next(),
      `API_SECRET=${next()}`,
      '--client-secret',
      next(),
      `--connection=mysql://root:${next()}@db.example/app`,
      '-k',
      `sk-${next()}`,
    ),
    remote: {
      url: `https://127.0.0.1:9/mcp?api_key=${next()}&key=${next()}`,
      headers: { Authorization: `Bearer ${next()}`, 'X-Api-Key': next() },
    },
  };
  await write(user, { '.cursor/mcp.json': JSON.stringify({ mcpServers: entries }, null, 2) });

  const plan = await user.mustThv('adopt', '--dry-run');
  const outcome = await user.thv('adopt', '--yes');
  for (const name of ['names', 'formats', 'texts', 'arguments'])
    await user.mustThv('export', name, join(user.home, `${name}.json`));

  expect(count).toBeGreaterThanOrEqual(60);
  const said = `${plan}${outcome.stdout}${outcome.stderr}`.split('\n');
  expect(said.filter((line) => line.includes('CaNaRy'))).toEqual([]);
  // The remote server does not answer, so its entry stays.
  const left = JSON.parse(await readFile(join(user.home, '.cursor/mcp.json'), 'utf8')) as {
    mcpServers: Record<string, object>;
  };
  const { remote, ...others } = left.mcpServers;
  expect(remote).toEqual(entries.remote);
  expect(JSON.stringify(others)).not.toContain('CaNaRy');
  const leaks = await Promise.all(
    (await filesBelow(user.home)).map(async (path) =>
      (await readFile(path)).includes('CaNaRy') ? [path] : [],
    ),
  );
  expect(leaks.flat()).toEqual([join(user.home, '.cursor/mcp.json')]);
});

test('the server gets its credentials, in variables and in arguments', async () => {
  await using user = await homes.take();
  const args = [...echo.args, '--api-key', 'CaNaRy1x7Qz', '--mode=fast'];
  await write(user, {
    '.cursor/mcp.json': JSON.stringify({
      mcpServers: { echo: { ...echo, args, env: { API_TOKEN: 'CaNaRy2x7Qz', MODE: 'plain' } } },
    }),
  });

  await user.mustThv('adopt', '--yes');

  const workloads = await json<{ url: string }[]>(user, 'list');
  await using client = await connectTo(workloads[0]?.url ?? '');
  const environment = (await client.call('environment')).text;
  const command = (await client.call('read', { path: '/proc/self/cmdline' })).text;
  expect(JSON.parse(environment)).toMatchObject({ API_TOKEN: 'CaNaRy2x7Qz', MODE: 'plain' });
  expect(command.split('\0')).toEqual(expect.arrayContaining(['--api-key', 'CaNaRy1x7Qz', '--mode=fast']));
});

test('a project gets neither the variables of the user nor paths outside', async () => {
  await using user = await homes.take();
  await write(user, {
    'project/.mcp.json': JSON.stringify({
      mcpServers: {
        inside: { ...echo, args: [...echo.args, './data'] },
        outside: { ...echo, args: [...echo.args, '../notes'] },
        variable: { ...echo, env: { TAKEN: '${PATH}' } },
        file: { ...echo, envFile: '../.env' },
      },
    }),
    'project/data/file': 'data',
    'notes/file': 'mine',
    '.env': 'A=b',
  });

  const plan = await json<AdoptionPlan>(user, 'adopt', '--dry-run', '--project', join(user.home, 'project'));

  const byName = Object.fromEntries(plan.servers.map((server) => [server.places[0]?.name, server]));
  expect(byName['inside']?.check?.permissions?.mounts).toMatchObject([
    { source: join(user.home, 'project/data'), read_only: false },
  ]);
  expect(byName['outside']?.problem).toContain('outside the project');
  expect(byName['variable']?.problem).toContain('no value for');
  expect(byName['file']?.problem).toContain('names the file');
});

test('servers in the workspace files of editors are adopted, and every file comes back to the byte', async () => {
  await using user = await homes.take();
  const entry = JSON.stringify(echo);
  const files = {
    'project/mine.code-workspace': `{\n\t"folders": [{ "path": "." }], // mine\n\t"settings": {\n\t\t"mcp": { "servers": { "echo": ${entry}, }, },\n\t\t"amp.mcpServers": { "echo": ${entry} },\n\t},\n}\n`,
    'project/flat.code-workspace': `{"settings":{"mcp.servers":{"echo":${entry}}},"folders":[]}`,
    'project/.vscode/settings.json': `{"editor.tabSize": 2, "mcp": {"servers": {"echo": ${entry}}}}`,
    'project/.continue/mcpServers/echo.yaml':
      'name: mine # mine\nversion: 0.0.1\nschema: v1\nmcpServers:\n  - name: echo\n    command: npx\n    args: [-y, toolhive-test-servers@1.0.0, echo]\n',
    '.config/Code/User/settings.json': `// mine\r\n{"mcp": {"servers": {"echo": ${entry}}}}\r\n`,
  };
  await write(user, files);
  const project = ['--project', join(user.home, 'project')];

  const { servers } = await json<AdoptionResult>(user, 'adopt', '--yes', ...project);
  const adopted = await textsOf(user, files);
  const left = await json<AdoptionPlan>(user, 'adopt', '--dry-run', ...project);
  const undone = await json<UndoneAdoption>(user, 'adopt', '--undo', '--yes');

  expect(servers.map(({ workload, problem }) => [workload, problem])).toEqual([['echo', undefined]]);
  expect(
    servers[0]?.places
      .map(({ client_type, path }) => `${client_type} ${path.slice(user.home.length + 1)}`)
      .toSorted(),
  ).toEqual([
    'amp-vscode project/mine.code-workspace',
    'continue project/.continue/mcpServers/echo.yaml',
    'vscode .config/Code/User/settings.json',
    'vscode project/.vscode/settings.json',
    'vscode project/flat.code-workspace',
    'vscode project/mine.code-workspace',
  ]);
  for (const text of Object.values(adopted)) expect(text).not.toContain('toolhive-test-servers');
  expect(left.servers).toEqual([]);
  expect(undone.files.map(({ restored }) => restored)).toEqual(Object.keys(files).map(() => 'file'));
  expect(await textsOf(user, files)).toEqual(files);
});

test('in a registered client, an adopted entry with another name is the only one for its workload', async () => {
  await using user = await homes.take();
  const newest = { command: 'npx', args: ['-y', testPackage, 'echo'] };
  await write(user, { '.cursor/mcp.json': JSON.stringify({ mcpServers: { 'My Echo!': newest } }) });
  await user.mustThv('client', 'register', 'cursor');

  await user.mustThv('adopt', '--yes');
  await user.mustThv('restart', 'My-Echo');

  const text = await readFile(join(user.home, '.cursor/mcp.json'), 'utf8');
  expect(Object.keys((JSON.parse(text) as { mcpServers: object }).mcpServers)).toEqual(['My Echo!']);
});

test('a key in the URL of a remote server moves to the secrets, and the server still gets the key', async () => {
  await using user = await homes.take();
  await user.mustThv('run', testServer, '--name', 'behind', '--', 'echo');
  const [behind] = await json<{ url: string }[]>(user, 'list');
  const asked: string[] = [];
  const server = createServer((incoming, response) => {
    asked.push(incoming.url ?? '');
    const { pathname, searchParams } = new URL(incoming.url ?? '', 'http://localhost');
    if (
      searchParams.get('api_key') !== 'CaNaRy1x7Qz' ||
      incoming.headers.authorization !== 'Bearer CaNaRy2x7Qz'
    ) {
      response.writeHead(403).end();
      return;
    }
    const { host: _host, ...headers } = incoming.headers;
    const outgoing = request(
      new URL(pathname, behind?.url),
      { method: incoming.method, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    outgoing.on('error', () => response.destroy());
    incoming.pipe(outgoing);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await write(user, {
    '.cursor/mcp.json': JSON.stringify({
      mcpServers: {
        remote: {
          url: `http://127.0.0.1:${port}/mcp?api_key=CaNaRy1x7Qz&mode=fast`,
          headers: { Authorization: 'Bearer CaNaRy2x7Qz' },
        },
      },
    }),
  });

  const { servers } = await json<AdoptionResult>(user, 'adopt', '--yes');

  expect(servers).toMatchObject([{ workload: 'remote' }]);
  expect(servers[0]?.problem).toBeUndefined();
  const text = await readFile(join(user.home, '.cursor/mcp.json'), 'utf8');
  const [url = ''] = /http:[^"]+/.exec(text) ?? [];
  await using client = await connectTo(url);
  expect((await client.call('echo', { message: 'hello' })).text).toBe('hello');
  expect(asked.at(-1)).toContain('mode=fast');
  const exported = join(user.home, 'remote.json');
  await user.mustThv('export', 'remote', exported);
  const config = await readFile(exported, 'utf8');
  expect(config).toContain('api_key=${secret:API_KEY}');
  expect(config).not.toContain('CaNaRy');
  server.closeAllConnections();
  server.close();
});

test('a name that is taken during an adoption leaves the entry and the workload of the user as they are', async () => {
  await using user = await homes.take();
  // The adoption waits for the first server until the test lets it fail.
  const asked = Promise.withResolvers<() => void>();
  const server = createServer((_request, response) => {
    asked.resolve(() => {
      server.close();
      server.closeAllConnections();
    });
    response.on('error', () => {});
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const text = JSON.stringify({ mcpServers: { first: { url: `http://127.0.0.1:${port}/mcp` }, echo } });
  await write(user, { '.cursor/mcp.json': text });

  const adoption = user.start('adopt', '--yes', '--format', 'json');
  const fail = await asked.promise;
  await user.mustThv('run', testServer, '--name', 'echo', '--label', 'of=user', '--', 'echo');
  fail();
  await adoption.ended;

  const { servers } = JSON.parse(adoption.stdout()) as AdoptionResult;
  expect(servers.find(({ workload }) => workload === 'echo')?.problem).toContain('echo already exists');
  expect(await readFile(join(user.home, '.cursor/mcp.json'), 'utf8')).toBe(text);
  const listed = await json<{ name: string; status: string; labels: object }[]>(user, 'list', '--all');
  expect(listed).toMatchObject([{ name: 'echo', status: 'running', labels: { of: 'user' } }]);
});

test('what a killed daemon left of an adoption is removed, and a workload of the user with that name stays', async () => {
  await using user = await homes.take();
  await write(user, { '.cursor/mcp.json': JSON.stringify({ mcpServers: { echo } }) });
  await user.mustThv('run', testServer, '--name', 'echo', '--label', 'of=user', '--', 'echo');
  await user.mustThv('adopt', '--yes');
  const index = join(user.home, '.local/state/toolhive/adoptions/index.json');
  const adopted = JSON.parse(await readFile(index, 'utf8')) as { workloads: Record<string, { id?: string }> };
  await user.mustThv('adopt', '--undo', '--yes');
  await user.killDaemon();
  // As if the daemon had been killed during the comparison, and another adoption before its workload was created.
  const { 'echo-2': own } = adopted.workloads;
  const interrupted = { ...own, id: undefined, candidate: own?.id };
  await writeFile(
    index,
    JSON.stringify({
      format: 1,
      changes: [],
      workloads: { 'echo-2': interrupted, echo: { ...interrupted, candidate: undefined } },
    }),
  );

  const { servers } = await json<AdoptionResult>(user, 'adopt', '--yes');

  expect(servers).toMatchObject([{ workload: 'echo-2' }]);
  expect(servers[0]?.problem).toBeUndefined();
  const after = JSON.parse(await readFile(index, 'utf8')) as typeof adopted;
  expect(after.workloads['echo-2']?.id).not.toBe(own?.id);
  const listed = await json<{ name: string; labels?: object }[]>(user, 'list', '--all');
  expect(listed.map(({ name }) => name)).toEqual(['echo', 'echo-2']);
});
