import { ThvError } from '@toolhive/contract/failure';
import type { PackageContents } from '@toolhive/runtime/runtime';
import { parseSource } from '@toolhive/runtime/source';
import { describe, expect, test } from 'vitest';
import { hashOf } from './file.ts';
import {
  checksumOf,
  emptyLock,
  formatLock,
  packageLock,
  parseLock,
  requireContent,
  requireTools,
  statedDifferences,
} from './lock.ts';
import type { Lock, LockedServer, LockedTools, Stated } from './lock.ts';

const hash = (text: string): string => hashOf(text);

const facts = {
  settings: hash('settings'),
  source: 'npx://example',
  resolved: 'npx://example@1.0.0',
  integrity: 'sha512-own',
  dependencies: { 'left-pad@1.3.0': 'sha512-left', '@scope/right@2.0.0': 'sha512-right' },
  tools: {
    tool: { add: hash('add'), remove: hash('remove') },
    prompt: { ask: hash('ask') },
    instructions: { '': hash('read me') },
  },
} satisfies Omit<LockedServer, 'checksum'>;

function locked(changes: Partial<LockedServer> = {}): LockedServer {
  const server = Object.fromEntries(
    Object.entries({ ...facts, ...changes }).filter(([, value]) => value !== undefined),
  ) as Omit<LockedServer, 'checksum'>;
  return { ...server, checksum: checksumOf(server) };
}

const lockOf = (changes: Partial<LockedServer> = {}): Lock => ({
  ...emptyLock,
  servers: { github: locked(changes) },
});

const stated = (changes: Partial<Stated> = {}): Map<string, Stated> =>
  new Map([
    ['github', { settings: facts.settings, source: facts.source, registryEntry: undefined, ...changes }],
  ]);

function messageOf(work: () => unknown): string {
  try {
    work();
  } catch (thrown) {
    if (thrown instanceof ThvError && thrown.hint !== undefined) return thrown.message;
    throw thrown;
  }
  return 'accepted';
}

const contents = (
  own = { name: 'example', version: '1.0.0', integrity: 'sha512-own' },
  others = [
    { name: 'left-pad', version: '1.3.0', integrity: 'sha512-left' },
    { name: '@scope/right', version: '2.0.0', integrity: 'sha512-right' },
  ],
): PackageContents => ({ registry: '', artifacts: [own, ...others] });

const install = (changes: Partial<LockedServer>, source: string, found?: PackageContents): string =>
  messageOf(() =>
    requireContent('github', locked(changes), {
      source: parseSource(source),
      contents: found,
      isStrict: true,
    }),
  );

const digestA = `sha256:${'a'.repeat(64)}`;
const digestB = `sha256:${'b'.repeat(64)}`;
const left = { name: 'left-pad', version: '1.3.0', integrity: 'sha512-left' };
const right = { name: '@scope/right', version: '2.0.0', integrity: 'sha512-right' };
const own = { name: 'example', version: '1.0.0', integrity: 'sha512-own' };

describe('the file and the lock', () => {
  test('agree without a difference', () => {
    expect(statedDifferences(stated(), lockOf(), () => false)).toEqual([]);
  });

  test.each<[string, Lock | undefined, Map<string, Stated>, string]>([
    ['no lock file', undefined, stated(), 'toolhive.lock is missing'],
    ['a server that is not locked', emptyLock, stated(), 'github is not in toolhive.lock'],
    [
      'a locked server that the file lacks',
      lockOf(),
      new Map(),
      'github is in toolhive.lock, but not in the file',
    ],
    [
      'another package',
      lockOf(),
      stated({ source: 'npx://other' }),
      'the source of github has changed: toolhive.lock has npx://example, and the file has npx://other',
    ],
    [
      'a version in the file',
      lockOf(),
      stated({ source: 'npx://example@2' }),
      'the file has npx://example@2',
    ],
    ['another ecosystem', lockOf(), stated({ source: 'uvx://example' }), 'the file has uvx://example'],
    [
      'another URL',
      lockOf({ source: 'https://a.example/mcp', resolved: 'https://a.example/mcp' }),
      stated({ source: 'https://b.example/mcp' }),
      'the file has https://b.example/mcp',
    ],
    ['other settings', lockOf(), stated({ settings: hash('others') }), 'the settings of github have changed'],
    [
      'a registry entry with other content',
      lockOf({ registry_entry: hash('entry') }),
      stated({ registryEntry: hash('changed') }),
      'the registry entry of github has changed',
    ],
    [
      'a registry entry that is gone',
      lockOf({ registry_entry: hash('entry') }),
      stated(),
      'the registry has none',
    ],
    [
      'a registry entry that has appeared',
      lockOf(),
      stated({ registryEntry: hash('new') }),
      'no registry entry',
    ],
    [
      'a lock without a version',
      lockOf({ resolved: 'npx://example' }),
      stated(),
      'toolhive.lock has no exact version of github',
    ],
    [
      'a lock without the hash of a package',
      lockOf({ integrity: undefined }),
      stated(),
      'toolhive.lock has no integrity hash of github',
    ],
    [
      'a lock without the digest of an image',
      lockOf({ source: 'example/x:1', resolved: 'example/x:1' }),
      stated({ source: 'example/x:1' }),
      'no exact version of github',
    ],
    [
      'a lock without the hash of a bundle',
      lockOf({ source: 'mcpb://./x.mcpb', resolved: 'mcpb://./x.mcpb' }),
      stated({ source: 'mcpb://./x.mcpb' }),
      'no exact version of github',
    ],
    [
      'a lock without the commit of a repository',
      lockOf({ source: 'npx://git+https://git.example/x', resolved: 'npx://git+https://git.example/x' }),
      stated({ source: 'npx://git+https://git.example/x' }),
      'no exact version of github',
    ],
  ])('%s is refused by name', (_what, lock, now, message) => {
    const differences = statedDifferences(now, lock, () => false);

    expect(differences.map((each) => each.message).join('\n')).toContain(message);
    expect(differences.every(({ hint }) => hint.length > 0)).toBe(true);
  });

  test('a server that is being updated may differ', () => {
    expect(statedDifferences(stated({ source: 'npx://other' }), lockOf(), () => true)).toEqual([]);
  });
});

describe('installed content', () => {
  test('passes if it is the locked one', () => {
    expect(install({}, 'npx://example@1.0.0', contents())).toBe('accepted');
  });

  test('may have no dependency of another platform', () => {
    expect(
      install(
        { dependencies: { ...facts.dependencies, 'fsevents@2.3.3': 'sha512-x' } },
        'npx://example@1.0.0',
        contents(),
      ),
    ).toBe('accepted');
  });

  test.each<[string, Partial<LockedServer>, string, PackageContents | undefined, string]>([
    [
      'a newer version',
      {},
      'npx://example@1.0.1',
      contents(),
      'the version of github has changed: toolhive.lock has npx://example@1.0.0, and the server has npx://example@1.0.1',
    ],
    ['an older version', {}, 'npx://example@0.9.0', contents(), 'npx://example@0.9.0'],
    ['another package', {}, 'npx://other@1.0.0', contents(), 'npx://other@1.0.0'],
    ['an image instead of a package', {}, `example/x:1@${digestA}`, undefined, `example/x:1@${digestA}`],
    [
      'other extras of a Python package',
      { resolved: 'uvx://example[cli]@1.0.0' },
      'uvx://example@1.0.0',
      contents(),
      'uvx://example@1.0.0',
    ],
    [
      'another Go version',
      { resolved: 'go://example.com/x@v1.0.0' },
      'go://example.com/x@v1.0.1',
      undefined,
      'go://example.com/x@v1.0.1',
    ],
    [
      'another digest of an image',
      { resolved: `example/x:1@${digestA}` },
      `example/x:1@${digestB}`,
      undefined,
      `the server has example/x:1@${digestB}`,
    ],
    [
      'another commit',
      { resolved: `npx://git+https://git.example/x@${'a'.repeat(40)}` },
      `npx://git+https://git.example/x@${'b'.repeat(40)}`,
      undefined,
      'b'.repeat(40),
    ],
    [
      'another bundle at a path',
      { resolved: `mcpb://./x.mcpb@sha256-${'a'.repeat(64)}` },
      `mcpb:///home/x.mcpb@sha256-${'b'.repeat(64)}`,
      undefined,
      `the server has the bundle sha256-${'b'.repeat(64)}`,
    ],
    [
      'another bundle at a URL',
      { resolved: `mcpb://https://x.example/x.mcpb@sha256-${'a'.repeat(64)}` },
      `mcpb://https://x.example/x.mcpb@sha256-${'b'.repeat(64)}`,
      undefined,
      'b'.repeat(64),
    ],
    [
      'a package with other content',
      {},
      'npx://example@1.0.0',
      contents({ ...own, integrity: 'sha512-evil' }),
      'the package content of github has changed: toolhive.lock has sha512-own, and the server has sha512-evil',
    ],
    [
      'another archive of a Python package',
      { resolved: 'uvx://example@1.0.0', integrity: 'sha256:aa' },
      'uvx://example@1.0.0',
      contents({ ...own, integrity: 'sha256:bb' }),
      'toolhive.lock has sha256:aa, and the server has sha256:bb',
    ],
    [
      'a dependency with other content',
      {},
      'npx://example@1.0.0',
      contents(own, [{ ...left, integrity: 'sha512-evil' }, right]),
      'the dependency left-pad@1.3.0 of github has changed',
    ],
    [
      'a newer dependency',
      {},
      'npx://example@1.0.0',
      contents(own, [{ ...left, version: '1.4.0' }, right]),
      'the dependency left-pad of github has changed: toolhive.lock has left-pad@1.3.0, and the server has left-pad@1.4.0',
    ],
    [
      'a newer dependency with a scope',
      {},
      'npx://example@1.0.0',
      contents(own, [left, { ...right, version: '2.0.1' }]),
      '@scope/right@2.0.1',
    ],
  ])('%s is refused by name', (_what, changes, source, found, message) => {
    expect(install(changes, source, found)).toContain(message);
  });

  test('an installation takes the locked version, and nothing else', () => {
    const lock = packageLock('github', locked(), { isStrict: true });

    expect(lock.pin(parseSource('npx://example'))).toEqual(parseSource('npx://example@1.0.0'));
    expect(lock.pin(parseSource('npx://other'))).toEqual(parseSource('npx://other'));
    const image = packageLock('github', locked({ resolved: `example/x:1@${digestA}` }), { isStrict: true });
    expect(image.pin(parseSource('example/x:1'))).toEqual(parseSource(`example/x:1@${digestA}`));
    expect(image.pin(parseSource('example/x:2'))).toEqual(parseSource('example/x:2'));
  });
});

describe('listed tools', () => {
  const list = (tools: LockedTools): string => messageOf(() => requireTools('github', locked(), tools));
  const { tool, prompt, instructions } = facts.tools;

  test('pass if they are the locked ones', () => {
    expect(list({ tool, prompt, instructions })).toBe('accepted');
  });

  test.each<[string, LockedTools, string]>([
    [
      'a tool with another text',
      { tool: { ...tool, add: hash('evil') }, prompt, instructions },
      'the tool add of github has changed',
    ],
    [
      'a tool that is gone',
      { tool: { add: tool.add }, prompt, instructions },
      'the tool remove of github is in toolhive.lock, and the server does not list it',
    ],
    [
      'a new tool',
      { tool: { ...tool, run: hash('run') }, prompt, instructions },
      'the tool run of github is new and not in toolhive.lock',
    ],
    [
      'a renamed tool',
      { tool: { add: tool.add, delete: tool.remove }, prompt, instructions },
      'the tool delete of github is new',
    ],
    [
      'exchanged tools',
      { tool: { add: tool.remove, remove: tool.add }, prompt, instructions },
      'the tool add of github has changed',
    ],
    [
      'a prompt with another text',
      { tool, prompt: { ask: hash('evil') }, instructions },
      'the prompt ask of github has changed',
    ],
    ['a prompt that is gone', { tool, instructions }, 'the prompt ask of github is in toolhive.lock'],
    [
      'a new resource',
      { tool, prompt, instructions, resource: { 'file:///x': hash('x') } },
      'the resource file:///x of github is new',
    ],
    [
      'a new resource template',
      { tool, prompt, instructions, 'resource-template': { 'file:///{x}': hash('x') } },
      'the resource-template file:///{x} of github is new',
    ],
    [
      'other instructions',
      { tool, prompt, instructions: { '': hash('evil') } },
      'the instructions of github have changed',
    ],
    ['no instructions', { tool, prompt }, 'the instructions of github are in toolhive.lock'],
    ['no tools at all', {}, 'the tool add of github is in toolhive.lock'],
    [
      'a tool with the name of a member of objects',
      { tool: { ...tool, constructor: hash('x') }, prompt, instructions },
      'the tool constructor of github is new',
    ],
  ])('%s are refused by name', (_what, tools, message) => {
    expect(list(tools)).toContain(message);
  });
});

describe('a lock file', () => {
  const text = formatLock(lockOf());
  const changed = (change: (server: Record<string, unknown>) => void, isSealed = false): string => {
    const value = JSON.parse(text) as { servers: { github: Record<string, unknown> } };
    change(value.servers.github);
    if (isSealed) value.servers.github['checksum'] = checksumOf(value.servers.github as LockedServer);
    return JSON.stringify(value, null, 2);
  };

  test('is the same for the same servers, whatever their order', () => {
    const servers = { b: locked(), a: locked({ settings: hash('a') }) };

    const one = formatLock({ ...emptyLock, servers });
    const other = formatLock({ ...emptyLock, servers: { a: servers.a, b: servers.b } });

    expect(one).toBe(other);
    expect(formatLock(parseLock(one))).toBe(one);
  });

  test.each<[string, string, string]>([
    ['an empty file', '', 'toolhive.lock is not JSON'],
    ['half of a file', text.slice(0, text.length / 2), 'toolhive.lock is not JSON'],
    ['a list', '[]', 'toolhive.lock is not valid'],
    ['another version', text.replace('"version": 1', '"version": 2'), 'version'],
    ['a merge conflict', `<<<<<<< HEAD\n${text}`, 'the marks of a merge conflict'],
    ['an unknown member', text.replace('"version"', '"extra": 1, "version"'), '"extra"'],
    ['an unknown member of a server', changed((server) => (server['trusted'] = true)), '"trusted"'],
    [
      'a server twice',
      text.replace('    "github": {', '    "github": {\n    },\n    "github": {'),
      'two entries for "github"',
    ],
    [
      'another version of the package',
      changed((server) => (server['resolved'] = 'npx://example@6.6.6')),
      'the entry of "github" was changed by hand',
    ],
    [
      'another hash of the package',
      changed((server) => (server['integrity'] = 'sha512-evil')),
      'was changed by hand',
    ],
    ['no hash of the package', changed((server) => delete server['integrity']), 'was changed by hand'],
    [
      'a removed dependency',
      changed((server) => delete (server['dependencies'] as Record<string, string>)['left-pad@1.3.0']),
      'was changed by hand',
    ],
    ['no tools', changed((server) => delete server['tools']), 'was changed by hand'],
    [
      'a removed tool',
      changed((server) => delete (server['tools'] as { tool: Record<string, string> }).tool['add']),
      'was changed by hand',
    ],
    [
      'another hash of a tool',
      changed((server) => ((server['tools'] as { tool: Record<string, string> }).tool['add'] = hash('evil'))),
      'was changed by hand',
    ],
    ['no checksum', changed((server) => delete server['checksum']), 'servers.github.checksum'],
    [
      'a hash of another form',
      changed((server) => (server['settings'] = 'abc'), true),
      'servers.github.settings: is not a SHA-256 hash',
    ],
    [
      'a hash that is a number',
      changed((server) => (server['integrity'] = 7), true),
      'servers.github.integrity',
    ],
    [
      'an unknown kind of tools',
      changed((server) => (server['tools'] = { gadget: {} }), true),
      'servers.github.tools',
    ],
  ])('%s is refused by name', (_what, lock, message) => {
    expect(messageOf(() => parseLock(lock))).toContain(message);
  });
});

test('a file with very many servers is read in time', { timeout: 60_000 }, () => {
  const servers = Array.from({ length: 190_000 }, (_, at) => `    "${at}": {\n}`).join(',\n');

  expect(messageOf(() => parseLock(`{"version":1,"servers":{\n${servers}}}`))).toContain('is not valid');
});
