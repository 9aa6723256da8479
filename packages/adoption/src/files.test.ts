import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { clientApplications } from '@toolhive/contract/client-application';
import type { ClientApplication } from '@toolhive/contract/client-application';
import { readPlace } from '@toolhive/clients/places';
import type { Place } from '@toolhive/clients/places';
import { stringify } from 'yaml';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { adoptedValue } from './entries.ts';
import { adoptEntry, followEntry, restoreFile, settle } from './files.ts';
import { AdoptionRecord } from './record.ts';
import type { FoundEntry } from './scan.ts';

let directory: string;
let record: AdoptionRecord;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'thv-adopt-'));
  record = new AdoptionRecord(join(directory, 'adoptions'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const stored = new Map<string, string>();
const vault = {
  get: async (name: string) => stored.get(name),
  set: async (name: string, value: string) => void stored.set(name, value),
};
const canary = 'ghp_canary0123456789';

const placeOf = (application: ClientApplication, path: string): Place => ({
  application,
  scope: 'user',
  path,
  directory: undefined,
  isShared: false,
});

/** Two servers as the users of a client write them. */
function serversFor({ wrapper, hasCommandList, nameKey, id }: ClientApplication): Record<string, object> {
  const words = ['npx', '-y', 'server-one'];
  const started = hasCommandList
    ? { type: 'local', command: words, environment: { API_TOKEN: canary } }
    : { command: words[0], args: words.slice(1), env: { API_TOKEN: canary } };
  const one = wrapper === undefined ? started : { [wrapper]: { type: 'stdio', ...started } };
  const named = (name: string, value: object): object =>
    nameKey === undefined
      ? value
      : { [nameKey]: name, ...value, ...(id === 'goose' ? { type: 'stdio' } : {}) };
  return { one: named('one', one), two: named('two', structuredClone(one)) };
}

function nested(pointer: readonly string[], value: unknown): Record<string, unknown> {
  return pointer.reduceRight((inner, key) => ({ [key]: inner }), value) as Record<string, unknown>;
}

/** Texts with the same servers, as people and programs lay them out. */
function textsFor(application: ClientApplication): string[] {
  const { format, pointer, storage } = application;
  const servers = serversFor(application);
  const section = storage === 'map' ? servers : Object.values(servers);
  const document = { ...nested(pointer, section), another: { key: [1, 'two'], 'a.b': null } };
  const texts = textsOf[format](document, application, servers);
  return texts.flatMap((text) => [text, `\uFEFF${text.replaceAll('\n', '\r\n')}`]);
}

const textsOf: Record<
  ClientApplication['format'],
  (document: object, application: ClientApplication, servers: Record<string, object>) => string[]
> = {
  json: (document) => {
    const pretty = JSON.stringify(document, null, 2);
    return [
      JSON.stringify(document),
      `${JSON.stringify(document, null, '\t')}\n`,
      // With comments and trailing commas.
      `// first\n${pretty.replaceAll(/([\]"}])\n/g, '$1, // note\n').replaceAll(/,,/g, ',')}\n/* last */\n`
        .replaceAll(/([[{,]) *, \/\/ note/g, '$1 // note')
        .replace(/\}, \/\/ note\n\/\* last/, '}\n/* last'),
    ];
  },
  yaml: (document) => [
    stringify(document),
    `# first\n${stringify(document)}# last\n`,
    stringify(document, { indentSeq: false, indent: 4 }),
  ],
  toml: (_document, { pointer, storage }, servers) => {
    const path = pointer.join('.');
    const header = (name: string): string => (storage === 'map' ? `[${path}.${name}]` : `[[${path}]]`);
    const tables = Object.entries(servers).map(([name, value]) => {
      const { env, ...fields } = value as { env: Record<string, string> };
      const lines = Object.entries(fields).map(
        ([key, field]) => `${key} = ${JSON.stringify(field)} # ${key}`,
      );
      return [header(name), ...lines, `env = { API_TOKEN = "${env['API_TOKEN']}" }`].join('\n');
    });
    return [
      `# first\nmodel = "x"\n\n${tables.join('\n\n')}\n\n[another]\nkey = [1, 2] # last\n`,
      `model = 'x'\n[another]\n  key = 1\n${tables.join('\n')}\n`,
    ];
  },
};

async function adoptAll(place: Place): Promise<void> {
  const { entries } = await readPlace(place);
  for (const [name, value] of entries) {
    const entry: FoundEntry = { place, name, value: value as FoundEntry['value'] };
    const workload = {
      name,
      url: `http://localhost:${name === 'one' ? 9001 : 9002}/mcp`,
      transport: 'streamable-http' as const,
    };
    const next = adoptedValue(place.application, entry.value, workload, name);
    await adoptEntry(entry, next, { record, vault, workload: name, at: '2026-01-31T09:30:00.000Z' });
  }
}

const restored = async (path: string, isWhole = false) => {
  const [file] = await restoreFile(path, await record.changes(), { record, vault, isWhole });
  return file;
};

test.each(clientApplications)('adopts and gives back every byte of the files of $id', async (application) => {
  for (const [index, text] of textsFor(application).entries()) {
    const path = join(directory, String(index), 'file');
    await mkdir(dirname(path));
    await writeFile(path, text);
    const place = placeOf(application, path);

    await adoptAll(place);
    const adopted = await readFile(path, 'utf8');
    const back = await restored(path);

    expect(adopted).toMatch(/9001|proxy/);
    expect(adopted).not.toContain(canary);
    expect(adopted).toContain('another');
    expect(back).toEqual({ path, restored: 'file' });
    expect(await readFile(path, 'utf8')).toBe(text);
    expect(await record.changes()).toEqual([]);
  }
});

const cursor = clientApplications.find(({ id }) => id === 'cursor')!; // a row of the table
const document = `{
  "mcpServers": {
    "one": { "command": "npx", "args": ["one"], "env": { "API_TOKEN": "${canary}" }, "alwaysAllow": ["read"] },
    "two": { "command": "uvx", "args": ["two"] } // mine
  }
}
`;

async function adoptCursor(): Promise<{ path: string; place: Place }> {
  const path = join(directory, 'mcp.json');
  await writeFile(path, document);
  const place = placeOf(cursor, path);
  await adoptAll(place);
  return { path, place };
}

test('the settings of the user stay, and credentials leave the file', async () => {
  const { path } = await adoptCursor();

  const text = await readFile(path, 'utf8');

  expect(text).toContain('"alwaysAllow":["read"]');
  expect(text).not.toContain(canary);
  expect(text).toContain('// mine');
});

test('backups are encrypted, and only their owner can read them', async () => {
  await adoptCursor();

  const [change] = await record.changes();
  const path = record.backupPath(change?.id ?? '');

  expect((await readFile(path)).includes(canary)).toBe(false);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await stat(dirname(path))).mode & 0o777).toBe(0o700);
});

test('in a file that has changed since, only the adopted entries are restored', async () => {
  const { path } = await adoptCursor();
  const changed = (await readFile(path, 'utf8')).replace('"two"', '"three": {"command": "new"},\n    "two"');
  await writeFile(path, changed);

  const back = await restored(path);

  const text = await readFile(path, 'utf8');
  expect(back).toEqual({ path, restored: 'entries' });
  expect(JSON.parse(text.replace('// mine', ''))).toEqual({
    mcpServers: {
      one: { command: 'npx', args: ['one'], env: { API_TOKEN: canary }, alwaysAllow: ['read'] },
      three: { command: 'new' },
      two: { command: 'uvx', args: ['two'] },
    },
  });
});

test('settings that the user or the client has changed since stay', async () => {
  const { path } = await adoptCursor();
  const changed = JSON.parse((await readFile(path, 'utf8')).replace('// mine', '')) as {
    mcpServers: Record<string, object>;
  };
  Object.assign(changed.mcpServers['one'] ?? {}, { alwaysAllow: ['read', 'write'], disabled: true });
  await writeFile(path, JSON.stringify(changed));

  await restored(path);

  expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({
    mcpServers: {
      one: {
        command: 'npx',
        args: ['one'],
        env: { API_TOKEN: canary },
        alwaysAllow: ['read', 'write'],
        disabled: true,
      },
      two: { command: 'uvx', args: ['two'] },
    },
  });
});

test('fields that ToolHive adds to the entries of a client do not stay', async () => {
  const goose = clientApplications.find(({ id }) => id === 'goose')!; // a row of the table
  const path = join(directory, 'config.yaml');
  const text = 'extensions:\n  one:\n    name: one\n    cmd: npx\n    args: [one]\n    type: stdio\n';
  await writeFile(path, text);
  await adoptAll(placeOf(goose, path));
  await writeFile(path, `${await readFile(path, 'utf8')}GOOSE_MODE: auto\n`);

  await restored(path);

  const back = await readFile(path, 'utf8');
  expect(back).toContain('cmd: npx');
  expect(back).not.toMatch(/timeout|enabled/);
});

test('the display name and the empty fields of an entry stay, also in a file that has changed since', async () => {
  const goose = clientApplications.find(({ id }) => id === 'goose')!; // a row of the table
  const path = join(directory, 'config.yaml');
  const fields = 'name: My Puppeteer\n    cmd: npx\n    args: [one]\n    type: stdio\n    timeout: null\n';
  await writeFile(path, `extensions:\n  one:\n    ${fields}`);
  await adoptAll(placeOf(goose, path));
  const adopted = await readFile(path, 'utf8');
  await writeFile(path, `${adopted}GOOSE_MODE: auto\n`);

  await restored(path);

  const back = await readPlace(placeOf(goose, path));
  expect(adopted).toContain('My Puppeteer');
  expect(back.entries.get('one')).toMatchObject({ name: 'My Puppeteer', cmd: 'npx', timeout: null });
});

test('an entry that the user has renamed since is restored under its new name', async () => {
  const { path } = await adoptCursor();
  await writeFile(path, (await readFile(path, 'utf8')).replace('"one"', '"mine"'));

  const back = await restored(path);

  expect(back).toEqual({ path, restored: 'entries' });
  expect(JSON.parse((await readFile(path, 'utf8')).replace('// mine', ''))).toMatchObject({
    mcpServers: { mine: { command: 'npx', env: { API_TOKEN: canary } }, two: { command: 'uvx' } },
  });
});

test('an entry of a workload whose port has moved is restored', async () => {
  const { path } = await adoptCursor();
  await writeFile(path, (await readFile(path, 'utf8')).replace(':9001', ':9999'));
  const moved = { one: 'http://localhost:9999/mcp', two: 'http://localhost:9002/mcp' };

  await restoreFile(path, await record.changes(), {
    record,
    vault,
    isWhole: false,
    addressOf: ({ workload }) => moved[workload as keyof typeof moved],
  });

  expect(await readFile(path, 'utf8')).toContain(canary);
});

test.each([
  ['first', 0, 9001],
  ['last', 1, 9002],
])(
  'the %s entry follows its workload to another port, and every byte comes back',
  async (_which, index, port) => {
    const { path } = await adoptCursor();
    const change = (await record.changes())[index]!; // two servers were adopted
    const url = 'http://localhost:9999/mcp';

    await followEntry(change, { name: change.workload, url, transport: 'streamable-http' }, record);
    const text = await readFile(path, 'utf8');
    const back = await restored(path);

    expect(text).toContain(url);
    expect(text).not.toContain(`:${port}/`);
    expect(text).toContain('"alwaysAllow":["read"]');
    expect(back).toEqual({ path, restored: 'file' });
    expect(await readFile(path, 'utf8')).toBe(document);
  },
);

test('an entry that the user has replaced does not follow its workload', async () => {
  const { path } = await adoptCursor();
  const own = '{"mcpServers": {"one": {"url": "https://mcp.example.com/mcp"}}}';
  await writeFile(path, own);
  const [change] = await record.changes();

  await followEntry(
    change!, // two servers were adopted
    { name: 'one', url: 'http://localhost:9999/mcp', transport: 'streamable-http' },
    record,
  );

  expect(await readFile(path, 'utf8')).toBe(own);
});

test('entries belong to the workload of their time, and not to a later one with its name', async () => {
  await adoptCursor();
  const { at } = (await record.changes())[0]!; // two servers were adopted
  const workload = { id: 'first', fingerprint: '', secrets: [] };
  const ofWorkload = async (id: string | undefined): Promise<string[]> =>
    (await record.lastingChanges((name) => (name === 'one' ? id : undefined))).map(({ name }) => name);

  await record.setWorkload('one', { ...workload, at });
  const [own, ofAnother, ofNone] = [
    await ofWorkload('first'),
    await ofWorkload('second'),
    await ofWorkload(undefined),
  ];
  await record.setWorkload('one', { ...workload, id: 'second', at: '2999-01-01T00:00:00.000Z' });

  expect({ own, ofAnother, ofNone }).toEqual({ own: ['one'], ofAnother: [], ofNone: [] });
  expect(await ofWorkload('second')).toEqual([]);
});

test('an entry that the client has moved to another file is restored there', async () => {
  const { path } = await adoptCursor();
  const text = await readFile(path, 'utf8');
  const other = placeOf(cursor, join(directory, 'new.json'));
  await writeFile(other.path, text.replace('"two"', '"changed"'));
  await writeFile(path, '{"mcpServers": {}}');

  const files = await restoreFile(path, await record.changes(), {
    record,
    vault,
    isWhole: false,
    placesOf: () => Promise.resolve([placeOf(cursor, path), other]),
  });

  expect(files).toContainEqual({ path: other.path, restored: 'entries' });
  expect(JSON.parse((await readFile(other.path, 'utf8')).replace('// mine', ''))).toMatchObject({
    mcpServers: { one: { command: 'npx', env: { API_TOKEN: canary } }, changed: { command: 'uvx' } },
  });
  expect(await readFile(path, 'utf8')).toBe('{"mcpServers": {}}');
});

test('entries that the user has removed or replaced since stay as they are', async () => {
  const { path } = await adoptCursor();
  const own = '{"mcpServers": {"one": {"command": "mine"}}}';
  await writeFile(path, own);

  const back = await restored(path);

  expect(back).toEqual({ path, restored: 'nothing' });
  expect(await readFile(path, 'utf8')).toBe(own);
});

test('the whole file can be restored without later changes', async () => {
  const { path } = await adoptCursor();
  await writeFile(path, 'not even JSON');

  const refused = await restored(path);
  const back = await restored(path, true);

  expect(refused).toMatchObject({ restored: 'nothing' });
  expect(back).toEqual({ path, restored: 'file' });
  expect(await readFile(path, 'utf8')).toBe(document);
});

test.each(['its folder', 'itself'])(
  'a whole text is not written through a link that has replaced %s since',
  async (what) => {
    const cursor = clientApplications.find(({ id }) => id === 'cursor')!; // a row of the table
    const [folder, elsewhere] = [join(directory, 'project/.cursor'), join(directory, 'elsewhere')];
    const [path, other] = [join(folder, 'mcp.json'), join(elsewhere, 'mcp.json')];
    for (const each of [folder, elsewhere]) await mkdir(each, { recursive: true });
    await writeFile(path, document);
    await adoptAll(placeOf(cursor, path));
    await writeFile(other, 'of the user');
    await rm(what === 'itself' ? path : folder, { recursive: true });
    await (what === 'itself' ? symlink(other, path) : symlink(elsewhere, folder));

    const refused = await restored(path, true);

    expect(refused).toMatchObject({ restored: 'nothing', hint: expect.stringContaining('--whole-files') });
    expect(refused?.problem).toContain('is another file since the adoption');
    expect(await readFile(other, 'utf8')).toBe('of the user');
  },
);

test('a whole file behind a link of the user is restored', async () => {
  const cursor = clientApplications.find(({ id }) => id === 'cursor')!; // a row of the table
  const [path, file] = [join(directory, 'mcp.json'), join(directory, 'dotfile.json')];
  await writeFile(file, document);
  await symlink(file, path);
  await adoptAll(placeOf(cursor, path));
  await writeFile(path, 'not even JSON');

  const back = await restored(path, true);

  expect(back).toEqual({ path, restored: 'file' });
  expect(await readFile(file, 'utf8')).toBe(document);
});

test('an entry that has changed since the plan is not adopted', async () => {
  const path = join(directory, 'mcp.json');
  await writeFile(path, document);
  const place = placeOf(cursor, path);
  const { entries } = await readPlace(place);
  await writeFile(path, document.replace('"uvx"', '"other"'));

  const adoption = adoptEntry(
    { place, name: 'two', value: entries.get('two') as FoundEntry['value'] },
    { url: 'http://localhost:9002/mcp' },
    { record, vault, workload: 'two', at: '2026-01-31T09:30:00.000Z' },
  );

  await expect(adoption).rejects.toThrow('the entry two in');
  expect(await record.changes()).toEqual([]);
});

test('an announced change that never reached the file is forgotten', async () => {
  const { path } = await adoptCursor();
  const index = join(directory, 'adoptions/index.json');
  const text = await readFile(index, 'utf8');
  await writeFile(index, text.replaceAll('"isDone": true', '"isDone": false'));
  await writeFile(path, document);

  record = new AdoptionRecord(join(directory, 'adoptions'));
  await settle(record);

  expect(await record.changes()).toEqual([]);
});

test('a damaged index says how to go on', async () => {
  await adoptCursor();
  await writeFile(join(directory, 'adoptions/index.json'), '{"format":1,');

  const reading = new AdoptionRecord(join(directory, 'adoptions')).changes();

  await expect(reading).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining('index.json is damaged'),
    hint: expect.stringContaining('restore the file from a backup'),
  });
});

test('a damaged backup restores nothing and says so', async () => {
  const { path } = await adoptCursor();
  const [, last] = await record.changes();
  await writeFile(record.backupPath(last?.id ?? ''), 'damaged');
  const before = await readFile(path, 'utf8');

  const back = await restored(path);

  expect(back).toMatchObject({
    restored: 'nothing',
    problem: expect.stringContaining('missing or damaged') as string,
  });
  expect(await readFile(path, 'utf8')).toBe(before);
});
