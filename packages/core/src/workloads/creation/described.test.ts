import { describe, expect, test } from 'vitest';
import { builtInProfiles } from '@toolhive/contract/permission-profile';
import { RegistryServer } from '@toolhive/contract/registry';
import type { Registry } from '@toolhive/contract/registry';
import type { PermissionProfile } from '@toolhive/contract/permission-profile';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { descriptionOf, resolveSource } from '@toolhive/registry/registry';
import { openBuiltIn } from '@toolhive/registry/built-in';
import { withDescription } from './described.ts';
import { localSettings } from './local-settings.ts';

const builtIn = openBuiltIn().state.registry;

function settingsOf(
  request: CreateWorkload & { image: string },
  options: { registry?: Registry; isBuiltIn?: boolean; profile?: PermissionProfile } = {},
) {
  const { registry = builtIn, isBuiltIn = true, profile = builtInProfiles.public } = options;
  const described = descriptionOf(registry, request.image, isBuiltIn);
  const resolved = resolveSource(registry, request.image, { runs: 'packages' });
  const given = { kind: 'request' as const, request, defaultProfile: () => profile };
  const whole = { ...resolved, ...(described === undefined ? {} : { described }) };
  const { said, ...completed } = withDescription(given, whole);
  return { said, settings: localSettings({ ...given, ...completed }, { resolved }) };
}

/** A registry of others with one entry about the package that the user names. */
function foreign(entry: object) {
  const server = RegistryServer.parse({
    description: 'x',
    image: 'npx://server@1.0.0',
    transport: 'stdio',
    ...entry,
  });
  return {
    registry: { version: '', last_updated: '', servers: { server }, remote_servers: {} },
    isBuiltIn: false,
  };
}

describe('a package that an entry describes', () => {
  test.each([
    'npx://@modelcontextprotocol/server-memory',
    'npx://@modelcontextprotocol/server-memory@2025.1.1',
  ])('behaves like the entry: %s', (image) => {
    const { settings, said } = settingsOf({ image });

    expect(settings).toMatchObject({
      image,
      env_vars: { MEMORY_FILE_PATH: '/home/server/memory.jsonl' },
      sessions: 'shared',
      permission_profile: { network: { outbound: {} } },
    });
    expect(said).toContain('registry entry memory: MEMORY_FILE_PATH, network rules, shared sessions');
  });

  test('keeps everything that the command says', () => {
    const request = {
      image: 'npx://@modelcontextprotocol/server-memory',
      env_vars: { MEMORY_FILE_PATH: '/data/memory.jsonl' },
      sessions: 'own' as const,
      permission_profile: { network: { outbound: { allow_host: ['example.com'] } } },
      cmd_arguments: ['--flag'],
    };

    const { settings, said } = settingsOf(request);

    expect(settings).toMatchObject({
      env_vars: request.env_vars,
      sessions: 'own',
      permission_profile: request.permission_profile,
      cmd_args: ['--flag'],
    });
    expect(said).toBeUndefined();
  });

  test.each<[string[], string | undefined, number | undefined]>([
    [[], 'streamable-http', 8931],
    [['--port', '8931'], 'streamable-http', 8931],
    [['--host=0.0.0.0', '--port=8931'], 'streamable-http', 8931],
    [['--headless'], 'stdio', undefined],
    [['--browser=chromium', '--host', '0.0.0.0'], 'stdio', undefined],
  ])('has the transport of the entry only with its port: %j', (cmd_arguments, transport, port) => {
    const { settings } = settingsOf({ image: 'npx://@playwright/mcp@latest', cmd_arguments });

    expect(settings).toMatchObject({ transport });
    expect(settings.target_port || undefined).toBe(port);
  });

  test('keeps a secret in the place of a default', () => {
    const secrets = [{ name: 'path', target: 'MEMORY_FILE_PATH' }];

    const { settings } = settingsOf({ image: 'npx://@modelcontextprotocol/server-memory', secrets });

    expect(settings.env_vars).toEqual({});
  });

  test('needs no variable that the entry requires, because arguments can have the same effect', () => {
    const { settings } = settingsOf({
      image: 'npx://@brave/brave-search-mcp-server',
      cmd_arguments: ['--brave-api-key', 'x'],
    });

    expect(settings).toMatchObject({ cmd_args: ['--brave-api-key', 'x'], env_vars: {} });
  });

  test('gets no more than the default of the user', () => {
    const image = 'npx://@modelcontextprotocol/server-everything';
    const open = foreign({ permissions: { network: { outbound: { allow_host: ['example.com'] } } } });

    const { settings } = settingsOf({ image: 'npx://server' }, { ...open, profile: builtInProfiles.none });
    const own = settingsOf({ image: 'npx://firecrawl-mcp' }, { profile: builtInProfiles.none });

    expect(settings.permission_profile).toBe(builtInProfiles.none);
    expect(own.settings.permission_profile).toBe(builtInProfiles.none);
    expect(settingsOf({ image }, { profile: builtInProfiles.none }).settings.permission_profile).toBe(
      builtInProfiles.none,
    );
  });
});

describe('an entry that others wrote', () => {
  test('may narrow the network, and set what only the server itself sees', () => {
    const entry = {
      sessions: 'shared',
      env_vars: [
        { name: 'MODE', description: '', required: false, secret: false, default: 'fast' },
        { name: 'FILE', description: '', required: false, secret: false, default: '/home/server/data.json' },
      ],
      permissions: { network: { outbound: { allow_host: ['api.example.com'], allow_port: [443] } } },
    };

    const { settings } = settingsOf({ image: 'npx://server' }, foreign(entry));

    expect(settings).toMatchObject({
      sessions: 'shared',
      env_vars: { MODE: 'fast', FILE: '/home/server/data.json' },
      permission_profile: { network: { outbound: { allow_host: ['api.example.com'] } } },
    });
  });

  test.each<[string, object]>([
    ['a mount', { read: ['/etc'] }],
    ['privileges', { privileged: true }],
    ['every host', { network: { outbound: { insecure_allow_all: true } } }],
    ['another port', { network: { outbound: { allow_host: ['example.com'], allow_port: [22] } } }],
    ['an address', { network: { outbound: { allow_host: ['10.0.0.1'] } } }],
    ['a name of this machine', { network: { outbound: { allow_host: ['localhost'] } } }],
    ['the network of this machine', { network: { mode: 'host', outbound: {} } }],
    ['requests from others', { network: { outbound: {}, inbound: { allow_host: ['example.com'] } } }],
  ])('never grants %s, and does not prevent the start', (_title, permissions) => {
    const { settings } = settingsOf({ image: 'npx://server' }, foreign({ permissions }));

    expect(settings.permission_profile).toBe(builtInProfiles.public);
  });

  test.each([
    ['API_URL', 'https://example.com'],
    ['API_HOST', 'example'],
    ['NODE_OPTIONS', '--require=x'],
    ['LD_PRELOAD', '/home/server/x.so'],
    ['HTTPS_PROXY', 'example'],
    ['MODE', 'https://example.com'],
    ['MODE', 'example.com'],
    ['FILE', '/home/server/../../etc/passwd'],
    ['FILE', '/etc/passwd'],
    ['PYTHONPATH', 'x'],
    ['API_BASE', 'x'],
    ['READ_ONLY', 'off'],
    ['READONLY_MODE', 'never'],
    ['CONFIRM', 'false'],
    ['CHECKS', '0'],
    ['ENABLED_TOOLS', 'delete'],
    ['API_KEY', 'of-another-account'],
  ])('never sets %s=%s', (name, value) => {
    const env_vars = [{ name, description: '', required: true, secret: false, default: value }];

    const { settings } = settingsOf({ image: 'npx://server' }, foreign({ env_vars }));

    expect(settings.env_vars).toEqual({});
  });

  test('contributes no arguments and no install scripts', () => {
    const entry = {
      args: ['--url', 'https://example.com'],
      package: { source: 'npx://server', args: ['x'], allow_scripts: ['evil'] },
    };

    const { settings } = settingsOf({ image: 'npx://server' }, foreign(entry));

    expect(settings.cmd_args).toEqual([]);
    expect(settings.allow_scripts).toBeUndefined();
  });

  test('contributes nothing if another entry is about the same package', () => {
    const { registry } = foreign({ sessions: 'shared' });
    const servers = { ...registry.servers, other: registry.servers.server };

    const description = descriptionOf({ ...registry, servers }, 'npx://server', false);

    expect(description).toBeUndefined();
  });
});
