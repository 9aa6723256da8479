import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { program } from '@toolhive/cli/commands';
import { apiClient } from '@toolhive/api/testing/api-client';
import { proves } from '@toolhive/testing/promises';
import { connectTo } from './testing/mcp.ts';
import { openTerminal } from './testing/terminal.ts';
import { makeUser, processesWith, testServer, until, hasEnded } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { openUsedHomes } from './testing/used-homes.ts';

const homes = openUsedHomes();
afterAll(() => homes[Symbol.asyncDispose]());

let user: User;

beforeAll(async () => {
  user = await makeUser();
  await mkdir(join(user.home, '.config/toolhive'), { recursive: true });
  await writeFile(
    join(user.home, '.config/toolhive/config.yaml'),
    `local_registry_path: ${await writeRegistry()}\n`,
  );
  const daemon = await daemonOf(user);
  await daemon.setupSecrets({ body: { provider_type: 'encrypted', password: 'a password of a test' } });
});
afterAll(() => user?.[Symbol.asyncDispose]());

describe('the flags of thv run', () => {
  test('end in the run config', async () => {
    proves('cli.flags');
    const [folder, file, shared] = [
      join(user.home, 'env.d'),
      join(user.home, 'one.env'),
      join(user.home, 'shared'),
    ];
    await mkdir(folder);
    await mkdir(shared);
    await writeFile(join(folder, 'a'), 'FROM=folder\nFOLDER=yes\n');
    await writeFile(file, '# a remark\nexport FROM=file\nFILE=a=b\nnothing\n');
    const overrides = join(user.home, 'tools.json');
    await writeFile(overrides, JSON.stringify({ toolsOverride: { echo: { name: 'say' } } }));

    const words = [
      ['run', testServer, '--name', 'flags', '-l', 'team=red', '--label=tier=one', '--host', '127.0.0.1'],
      ['-e', 'FROM=flag', '--env-file', file, '--env-file-dir', folder, '-v', `${shared}:/shared:ro`],
      ['--network', 'none', '--proxy-mode', 'streamable-http', '--sessions', 'shared', '--tools', 'say,slow'],
      ['--tools-override', overrides, '--ignore-globally=false', '--image-verification=disabled'],
      ['--', 'echo', '--flag'],
    ];
    await user.mustThv(...words.flat());
    const runConfig = await exported('flags');
    await user.mustThv('rm', 'flags');

    expect(runConfig).toMatchObject({
      name: 'flags',
      group: 'default',
      container_labels: { team: 'red', tier: 'one' },
      env_vars: { FROM: 'flag', FOLDER: 'yes', FILE: 'a=b' },
      volumes: [`${shared}:/shared:ro`],
      permission_profile: { name: 'public', network: { mode: 'none' } },
      proxy_mode: 'streamable-http',
      sessions: 'shared',
      tools_filter: ['say', 'slow'],
      tools_override: { echo: { name: 'say' } },
      ignore_config: { loadGlobal: false },
      cmd_args: ['echo', '--flag'],
    });
  });

  test.each([
    ['--authz-config', 'policies.json'],
    ['--oidc-issuer', 'https://id.example.com'],
    ['--resource-url', 'https://mcp.example.com'],
    ['--jwks-allow-private-ip'],
    ['--oidc-insecure-allow-http'],
    ['--jwks-auth-token-file', 'token'],
    ['--thv-ca-bundle', 'bundle.pem'],
    ['--token-exchange-url', 'https://id.example.com/token'],
    ['--token-exchange-scopes', 'one,two'],
    ['--token-exchange-client-secret', 'not to be seen'],
  ])('are refused where a part of what they need is missing: %s', async (...words) => {
    const { code, stderr, stdout } = await user.thv('run', testServer, '--name', 'refused', ...words);

    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).not.toContain('not to be seen');
    expect((await user.thv('list', '--all', '--format', 'json')).stdout).toBe('[]\n');
    expect((await (await daemonOf(user)).listSecrets({})).keys).toEqual([]);
  });

  test.each([
    ['--target-host', '192.0.2.1', 'the server cannot listen on "192.0.2.1", because it has its own network'],
    ['--k8s-pod-patch', '[]', 'invalid --k8s-pod-patch: not a JSON object'],
  ])('are refused with a value that cannot be honored: %s', async (flag, value, message) => {
    const { code, stderr, stdout } = await user.thv('run', testServer, '--name', 'refused', flag, value);

    expect(stderr).toContain(message);
    expect([code, stdout]).toEqual([2, '']);
    expect((await user.thv('list', '--all', '--format', 'json')).stdout).toBe('[]\n');
    expect((await (await daemonOf(user)).listSecrets({})).keys).toEqual([]);
  });

  test.each([
    ['--volume', '/tmp:/tmp'],
    ['--env', 'A=B'],
    ['--secret', 'a,target=B'],
    ['--permission-profile', 'none'],
    ['--network', 'none'],
  ])('are refused where they would do nothing: %s', async (...words) => {
    const { code, stderr } = await user.thv('run', 'https://mcp.example.com/mcp', ...words);

    expect([code, stderr]).toEqual([
      2,
      `Error: ${words[0]} is not supported for a remote server\nHint: omit it\n`,
    ]);
  });

  test('have their mistakes named', async () => {
    const mistakes = [
      ['run'],
      ['run', 'unheard-of'],
      ['run', testServer, '--env', 'secret'],
      ['run', testServer, '--secret', 'secret'],
      ['run', testServer, '--label', 'team'],
      ['run', testServer, '--volume', 'here'],
      ['run', testServer, '--permission-profile', '/nowhere.json'],
      ['run', testServer, '--env-file', '/nowhere.env'],
      ['run', testServer, '--tools-override', '/etc/hostname'],
      ['run', testServer, '--remote-auth'],
      ['run', testServer, '--ca-cert', '/etc/hostname'],
      ['run', testServer, '--group', 'unheard-of'],
      ['run', 'weather', '--tools', 'guess', '-e', 'WEATHER_KEY=x', '-e', 'WEATHER_CITY=x'],
      ['run', 'https://user:secret@mcp.example.com/mcp'],
    ];

    const outcomes = await Promise.all(mistakes.map((words) => user.thv(...words)));

    expect(outcomes.every(({ code }) => code !== 0)).toBe(true);
    expect(outcomes.map(({ stderr }) => stderr).join('\n')).toMatchInlineSnapshot(`
      "Error: SOURCE is missing
      Hint: specify a registry entry, a package, an image, or a URL

      Error: the registry has no server unheard-of
      Hint: for an npm package, run thv run npx://unheard-of. For a PyPI package, run thv run uvx://unheard-of. To find registry entries, run thv search unheard-of

      Error: --env takes NAME=VALUE
      Hint: put the name first, then =

      Error: --secret takes NAME,target=VARIABLE
      Hint: specify a stored secret, not its value

      Error: --label takes NAME=VALUE
      Hint: put the name first, then =

      Error: invalid --volume: "here" is not a volume
      Hint: use the form HOST:CONTAINER or HOST:CONTAINER:ro

      Error: invalid --permission-profile: cannot read /nowhere.json: file not found

      Error: invalid --env-file: cannot read /nowhere.env: file not found

      Error: invalid --tools-override: /etc/hostname is not JSON

      Error: --remote-auth is not supported for a local server
      Hint: omit it

      Error: --ca-cert has no PEM certificate
      Hint: a PEM certificate begins with -----BEGIN CERTIFICATE-----

      Error: group unheard-of not found
      Hint: run thv group list to see all groups

      Error: weather has no tool guess
      Hint: the available tools are echo, environment

      Error: this is not the URL of a remote server
      Hint: use an http or https URL without a user name and a password, which belong in headers
      "
    `);
  });
});

describe('a mistake in a flag of thv run', () => {
  /** An invalid value for each flag, with the other flags that it needs. A list of words replaces the default command. */
  const mistakes: Readonly<Record<string, string | readonly string[]>> = {
    name: 'a b',
    group: 'No!',
    transport: 'carrier-pigeon',
    host: '192.0.2.1.5',
    'proxy-port': '70000',
    'proxy-mode': 'none',
    sessions: 'many',
    'authz-config': '/none.yaml',
    'tool-pinning': 'maybe',
    label: 'none',
    'target-port': '70000',
    'target-host': '192.0.2.1',
    'image-verification': 'sometimes',
    'k8s-pod-patch': '[]',
    secret: 'none',
    with: 'a b',
    python: 'three',
    'exclude-newer': 'soon',
    prerelease: 'perhaps',
    config: 'none',
    'allow-scripts': '--all',
    'allow-local-port': '5432/udp',
    publish: '80',
    'allow-origin': '*',
    'url-variable': 'tenant',
    volume: 'none',
    'permission-profile': '/none.json',
    'ca-cert': '/none.pem',
    env: 'none',
    'env-file': '/none.env',
    'env-file-dir': '/none',
    memory: 'lots',
    cpus: 'all',
    pids: '1',
    disk: '1',
    'open-files': '1',
    'tools-override': '/none.json',
    'audit-config': '/none.json',
    'otel-endpoint': 'http://collector:4318',
    'otel-sampling-rate': '2',
    'otel-headers': 'none',
    'otel-custom-attributes': 'none',
    'otel-env-vars': ['--otel-endpoint', 'localhost:4318', '--otel-env-vars', 'API_TOKEN'],
    'oidc-issuer': ['--oidc-issuer', 'http://id.example.com', '--oidc-audience', 'a'],
    'oidc-jwks-url': ['--oidc-jwks-url', 'none', '--oidc-audience', 'a'],
    'oidc-introspection-url': ['--oidc-introspection-url', 'none', '--oidc-audience', 'a'],
    'thv-ca-bundle': [
      '--oidc-issuer',
      'https://id.example.com',
      '--oidc-audience',
      'a',
      '--thv-ca-bundle',
      '/none',
    ],
    'resource-url': ['--oidc-issuer', 'https://id.example.com', '--resource-url', 'none'],
    'token-exchange-url': 'none',
    'token-exchange-subject-token-type': 'none',
    'token-exchange-client-secret-file': '/none',
    'remote-auth-issuer': 'none',
    'remote-auth-callback-port': '70000',
    'remote-auth-timeout': 'soon',
    'remote-auth-client-secret-file': '/none',
    'remote-auth-authorize-url': 'none',
    'remote-auth-token-url': 'none',
    'remote-auth-resource': 'soon',
    'remote-forward-headers': 'none',
    'remote-forward-headers-secret': 'none',
    'from-config': '/none.json',
  };
  /** Flags whose values are always valid, are read later, or are invalid only because of other flags or the server. */
  const withoutMistakes = [
    'jwks-auth-token-file',
    'network',
    'tools',
    'oidc-audience',
    'oidc-client-id',
    'oidc-client-secret',
    'oidc-scopes',
    'token-exchange-audience',
    'token-exchange-client-id',
    'token-exchange-client-secret',
    'token-exchange-header-name',
    'token-exchange-scopes',
    'remote-auth-client-id',
    'remote-auth-client-secret',
    'remote-auth-scopes',
    'otel-service-name',
    'kubeconfig',
    'kube-context',
    'namespace',
  ];

  test('is tested for every flag with a value', () => {
    const { flags = [] } = program.commands.find(({ path }) => path === 'run') ?? {};
    const withValue = flags.filter(({ kind }) => kind !== 'boolean').map(({ name }) => name);

    expect([...Object.keys(mistakes), ...withoutMistakes].toSorted()).toEqual(withValue.toSorted());
  });

  test.each(Object.entries(mistakes))('names the flag: --%s', async (name, value) => {
    const source = name.startsWith('remote-') ? 'https://mcp.example.com/mcp' : testServer;
    const words = typeof value === 'string' ? [`--${name}`, value] : value;

    const { code, stdout, stderr } = await user.thv(
      'run',
      ...(name === 'from-config' ? [] : [source]),
      '--name',
      'mistaken',
      ...words,
    );

    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(`--${name}`);
    // No field of the API, except for values of the flag.
    expect(stderr.replace(/access_token, id_token/, '')).not.toMatch(/\b[a-z0-9]+_[a-z_]+\b/);
  });
});

describe('a run config that was exported', () => {
  test('is run again, and nothing else can be said with it', async () => {
    proves('cli.run.from-config');
    const file = join(user.home, 'again.json');
    await user.mustThv('run', testServer, '--name', 'again', '-l', 'team=blue');
    const before = await exported('again');
    await writeFile(file, JSON.stringify(before));
    await user.mustThv('rm', 'again');

    const refused = await user.thv(
      'run',
      testServer,
      '--from-config',
      file,
      '--name',
      'x',
      '-f',
      '--',
      'echo',
    );
    const stdout = await user.mustThv('run', '--from-config', file);
    const after = await exported('again');
    await user.mustThv('rm', 'again');

    expect(refused).toMatchObject({
      code: 2,
      stderr:
        'Error: --from-config cannot be used together with --name, --foreground, SOURCE, arguments\nHint: change the file instead\n',
    });
    expect(stdout).toContain(`again runs at http://127.0.0.1:${String(before['port'])}/`);
    expect(after).toEqual(before);
  });
});

describe('what a server needs', () => {
  test('is named without a terminal', async () => {
    proves('cli.run.needs');
    const { code, stderr } = await user.thv('run', 'weather');

    expect(code).toBe(2);
    expect(stderr).toMatchInlineSnapshot(`
      "Error: weather needs WEATHER_KEY, WEATHER_CITY
      Hint: store it with thv secret set WEATHER_KEY; add --env WEATHER_CITY=VALUE; WEATHER_KEY: A key for the service; WEATHER_CITY: The city to begin with
      "
    `);
  });

  test('is a stored secret of the same name', async () => {
    const daemon = await daemonOf(user);
    await daemon.createSecret({ body: { key: 'WEATHER_KEY', value: 'the stored value' } });

    const { stdout, stderr } = await user.thv('run', 'weather', '-e', 'WEATHER_CITY=Ghent');
    await using client = await connectTo(/http:\S+/.exec(stdout)?.[0] ?? '');
    const { text } = await client.call('environment');
    await user.mustThv('rm', 'weather');
    await daemon.deleteSecret({ params: { key: 'WEATHER_KEY' } });

    expect(stderr).toContain('WEATHER_KEY: the stored secret WEATHER_KEY\n');
    expect(JSON.parse(text)).toMatchObject({
      WEATHER_KEY: 'the stored value',
      WEATHER_CITY: 'Ghent',
      WEATHER_UNIT: 'metric',
    });
  });

  test('is asked for at a terminal, without showing secrets, which are stored', async () => {
    proves('cli.run.needs');
    const daemon = await daemonOf(user);
    await using left = new AsyncDisposableStack();
    left.defer(async () => {
      await user.thv('rm', 'weather');
      await daemon.deleteSecret({ params: { key: 'weather-WEATHER_KEY' } }).catch(() => {}); // never stored
    });
    const terminal = openTerminal(user, ['run', 'weather', '--proxy-mode', 'streamable-http']);

    await terminal.shows(/WEATHER_KEY: $/); // the description before it begins in the same way
    terminal.type('what nobody sees\r');
    await terminal.shows(/WEATHER_CITY: $/);
    terminal.type('Ghent\r');
    const code = await terminal.ended;
    await using client = await connectTo(/http:\S+\/mcp/.exec(terminal.screen())?.[0] ?? '');
    const { text } = await client.call('environment');
    const { keys } = await daemon.listSecrets({});

    expect(code).toBe(0);
    expect(JSON.parse(text)).toMatchObject({ WEATHER_KEY: 'what nobody sees', WEATHER_CITY: 'Ghent' });
    expect(keys).toEqual([{ key: 'weather-WEATHER_KEY' }]);
    expect(terminal.screen()).not.toContain('what nobody sees');
  });

  test('is given up with Ctrl-C', async () => {
    const terminal = openTerminal(user, ['run', 'weather']);

    await terminal.shows(/WEATHER_KEY: $/); // the description before it begins in the same way
    terminal.type('\x03');
    const code = await terminal.ended;

    expect(code).toBe(130);
    expect(await user.mustThv('list', '--all', '--format', 'json')).toBe('[]\n');
  });
});

describe('in the foreground', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)(
    'it shows what the server writes until %s, and leaves nothing behind',
    async (signal) => {
      proves('cli.run.foreground');
      const marker = randomUUID();
      const { child, stdout, ended } = user.start(
        'run',
        testServer,
        '--name',
        'front',
        '-f',
        '--',
        'echo',
        marker,
      );
      await until(() => stdout().includes('front runs at'));
      await using client = await connectTo(/http:\S+/.exec(stdout())?.[0] ?? '');

      await client.call('complain', { message: 'a line of the server' });
      await until(() => stdout().includes('a line of the server'));
      child.kill(signal);
      const code = await ended;

      expect(code).toBe(0);
      expect(await user.mustThv('list', '--all', '--format', 'json')).toBe('[]\n');
      expect(await processesWith(marker)).toEqual([]);
    },
  );
});

test('in the foreground it ends when another program stops the workload', async () => {
  await using other = await homes.take();
  const { stdout, stderr, ended } = other.start('run', testServer, '--name', 'front', '-f');
  await until(() => stdout().includes('front runs at'));

  await other.mustThv('stop', 'front');
  const code = await ended;

  expect([code, stderr()]).toEqual([
    5,
    expect.stringContaining('Error: front was stopped or removed by another command'),
  ]);
  expect(await other.mustThv('list', '--all')).toContain('stopped');
});

test('in the foreground it tells when the daemon has ended', async () => {
  await using other = await homes.take();
  const { stdout, stderr, ended } = other.start('run', testServer, '--name', 'front', '-f');
  await until(() => stdout().includes('front runs at'));

  const pid = await other.daemonPid();
  await other.api('POST', '/api/v1beta/hive/stop');
  const code = await ended;
  await until(() => hasEnded(pid)); // it still writes into the home of the user

  expect([code, stderr()]).toEqual([
    5,
    expect.stringContaining('Error: the daemon ended during the request\nHint: '),
  ]);
});

test('interrupting a start that takes its time leaves nothing behind', async () => {
  proves('cli.run.foreground');
  const { child, stderr, ended } = user.start('run', testServer, '--name', 'slow', '--', 'silent');
  await until(() => stderr().includes('waiting for its first response'));

  child.kill('SIGINT');
  const code = await ended;

  expect(code).toBe(130);
  expect(await user.mustThv('list', '--all', '--format', 'json')).toBe('[]\n');
});

describe('the secret of an OAuth client', () => {
  test('is stored as long as there is a workload, and stands nowhere else', async () => {
    const daemon = await daemonOf(user);
    const file = join(user.home, 'client-secret');
    await writeFile(file, 'a secret in a file\n');
    const words = ['run', 'http://127.0.0.1:1/mcp', '--name', 'far', '--remote-auth-client-id', 'me'];

    const refused = await user.thv(
      ...words,
      '--group',
      'unheard-of',
      '--remote-auth-client-secret-file',
      file,
    );
    const afterRefusal = await daemon.listSecrets({});
    const unreachable = await user.thv(...words, '--remote-auth-client-secret-file', file);
    const stored = await daemon.listSecrets({});
    const { remote_auth_config: auth } = await daemon.exportWorkload({ params: { name: 'far' } });
    await user.mustThv('rm', 'far');
    for (const { key } of stored.keys) await daemon.deleteSecret({ params: { key } });

    expect([refused.code, afterRefusal.keys]).toEqual([4, []]);
    expect(unreachable.code).not.toBe(0);
    expect(stored.keys).toEqual([{ key: 'OAUTH_CLIENT_SECRET_far' }]);
    expect(auth).toMatchObject({ client_secret: 'OAUTH_CLIENT_SECRET_far,target=oauth_secret' });
    expect(JSON.stringify([refused, unreachable, auth])).not.toContain('a secret in a file');
  });
});

async function exported(name: string): Promise<Record<string, unknown>> {
  return (await daemonOf(user)).exportWorkload({ params: { name } });
}

async function daemonOf(owner: User) {
  await owner.mustThv('list'); // starts it
  return apiClient({ socketPath: join(owner.home, '.local/state/toolhive/hive.sock') });
}

async function writeRegistry(): Promise<string> {
  const path = join(user.home, 'registry.json');
  const weather = {
    description: 'Tells the weather of the next days.',
    image: 'example.com/weather:1.0.0',
    package: { source: testServer },
    transport: 'stdio',
    status: 'Active',
    tier: 'Community',
    tools: ['echo', 'environment'],
    env_vars: [
      { name: 'WEATHER_KEY', description: 'A key for the service.', required: true, secret: true },
      { name: 'WEATHER_CITY', description: 'The city to begin with.', required: true },
      { name: 'WEATHER_UNIT', description: 'How it is measured.', required: false, default: 'metric' },
    ],
  };
  const registry = { version: '1.0.0', last_updated: '2026-01-15T10:30:00Z', servers: { weather } };
  await writeFile(path, JSON.stringify(registry));
  return path;
}
