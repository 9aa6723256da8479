// @suite e2e (in depth)
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, relative } from 'node:path';
import { settings } from '@toolhive/contract/settings';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { selfSigned } from '@toolhive/runtime/testing/self-signed';
import { proves } from '@toolhive/testing/promises';
import { openTerminal } from './testing/terminal.ts';
import { makeUser, testServer } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

let user: User;
let files: Record<string, string>;
const configFile = (): Promise<string> => readFile(join(user.home, '.config/toolhive/config.yaml'), 'utf8');

beforeAll(async () => {
  user = await makeUser();
  files = { certificate: join(user.home, 'ca.pem'), registry: join(user.home, 'registry.json') };
  await writeFile(files['certificate'] ?? '', selfSigned('example').certificate);
  await writeFile(
    files['registry'] ?? '',
    JSON.stringify({ version: '1.0.0', last_updated: '2026-01-01T00:00:00Z', servers: {} }),
  );
});
afterAll(() => user?.[Symbol.asyncDispose]());

/** The words of the command line for a setting. */
function words(verb: string, name: string): string[] {
  return name.startsWith('otel-')
    ? ['config', 'otel', `${verb}-${name.slice('otel-'.length)}`]
    : ['config', `${verb}-${name}`];
}

describe.each(settings.map(({ name, kind, example, at }) => ({ name, kind, example, at })))(
  'the setting $name',
  ({ name, kind, example, at }) => {
    test('is not set, is set, and is taken back', async () => {
      proves('cli.settings');
      const value = files[kind] ?? example;

      const before = await user.mustThv(...words('get', name));
      await user.mustThv(...words('set', name), value);
      const during = await user.mustThv(...words('get', name));
      const written = await configFile();
      const unset = await user.mustThv(...words('unset', name));

      expect([before, during]).toEqual([`${name} is not set\n`, `${value}\n`]);
      const key = kind === 'registry' ? 'local_registry_path:' : `${at.at(-1)}:`;
      expect(written).toContain(key);
      expect(unset).toBe(`${name} is not set\n`);
      expect(await configFile()).not.toContain(key);
    });
  },
);

// The words of a setting decide nothing here, so one stands for all.
test('a setting is shown as JSON, and can be taken back again', async () => {
  const [{ name, example }] = settings;
  await user.mustThv(...words('set', name), files[settings[0].kind] ?? example);

  const shown: unknown = JSON.parse(await user.mustThv(...words('get', name), '--format', 'json'));
  await user.mustThv(...words('unset', name));
  await user.mustThv(...words('unset', name));

  expect(shown).toMatchObject({ name, summary: expect.any(String) as string });
  expect(await user.mustThv(...words('get', name))).toBe(`${name} is not set\n`);
});

test.each([
  [['otel', 'set-endpoint', 'https://collector:4318'], /begins with a scheme\nHint: use the form HOST:PORT/],
  [['otel', 'set-sampling-rate', '2'], /is not a number from 0\.0 to 1\.0/],
  [['otel', 'set-insecure', 'perhaps'], /is not true or false/],
  [['otel', 'set-env-vars', 'A B'], /is not names of environment variables/],
  [['set-ca-cert', '/unheard/of.pem'], /the certificate \/unheard\/of\.pem cannot be read/],
  [['set-ca-cert', process.execPath], /larger than a megabyte/],
  [['set-ca-cert', '/dev/zero'], /the certificate \/dev\/zero is not a file/],
  [['set-registry', ''], /thv config unset-registry/],
  [['set-registry', '/unheard/of.json'], /cannot use this registry/],
  [['set-registry', 'http://127.0.0.1:1/registry.json'], /cannot use this registry/],
  [['set-registry', 'registry.json', '--allow-private-ip'], /applies only to URLs/],
  [['otel', 'set-endpoint'], /ENDPOINT is missing/],
])('refuses: config %j', async (line, message) => {
  const { code, stderr } = await user.thv('config', ...line);

  expect(code).toBe(2);
  expect(stderr).toMatch(message);
});

test('a relative path is meant from where the command is typed', async () => {
  await user.mustThv('config', 'set-ca-cert', relative(process.cwd(), files['certificate'] ?? ''));

  expect(await user.mustThv('config', 'get-ca-cert')).toBe(`${files['certificate']}\n`);
});

test('a registry of a private network is taken only when that is allowed', async () => {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ version: '1.0.0', last_updated: '2026-01-01T00:00:00Z', servers: {} }));
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/registry.json`;

  const refused = await user.thv('config', 'set-registry', url);
  const allowed = await user.mustThv('config', 'set-registry', url, '-p');

  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('cannot use this registry')]);
  expect(allowed).toBe(`ToolHive now uses the registry ${url}\n`);
  expect(await user.mustThv('config', 'get-registry')).toBe(`${url}\n`);
  await user.mustThv('config', 'unset-registry');
  expect(await user.mustThv('registry', 'list')).toContain('filesystem');
});

test('settings of telemetry hold for every workload that does not say otherwise', async () => {
  await using other = await makeUser();
  await other.mustThv('config', 'otel', 'set-enable-prometheus-metrics-path', 'true');
  const metricsOf = async (name: string, ...flags: string[]): Promise<number> => {
    const out = await other.mustThv('run', testServer, '--name', name, ...flags, '--', 'echo');
    return (await fetch(new URL('/metrics', /http\S+/.exec(out)?.[0]))).status;
  };

  expect(await metricsOf('plain')).toBe(200);
  expect(await metricsOf('without', '--otel-enable-prometheus-metrics-path=false')).toBe(404);
});

test('a collector in the settings receives the telemetry of workloads that are created afterwards', async () => {
  await using other = await makeUser();

  await other.mustThv('config', 'otel', 'set-endpoint', 'localhost:4318');
  await other.mustThv('run', testServer, '--name', 'plain', '--', 'echo');

  await other.mustThv('export', 'plain', join(other.home, 'plain.json'));
  expect(JSON.parse(await readFile(join(other.home, 'plain.json'), 'utf8'))).toMatchObject({
    telemetry_config: { endpoint: 'localhost:4318' },
  });
});

test('what a person broke in config.yaml is told, and harms no other setting', async () => {
  await using other = await makeUser();
  await other.mustThv('config', 'otel', 'set-insecure', 'true');
  const path = join(other.home, '.config/toolhive/config.yaml');
  await writeFile(path, `${await readFile(path, 'utf8')}  sampling-rate: many\n`);
  await other.mustThv('config', 'otel', 'set-tracing-enabled', 'false');

  const { stdout, stderr } = await other.thv('config', 'otel', 'get-sampling-rate');

  expect([stdout, stderr]).toEqual([
    'otel-sampling-rate is not set\n',
    'note: "many" is not a number from 0.0 to 1.0\n',
  ]);
  expect(await other.mustThv('config', 'otel', 'get-insecure')).toBe('true\n');
});

test('the user is asked for the network of a server without a profile, if that is set', async () => {
  await using other = await makeUser();
  await other.mustThv('config', 'set-default-network', 'ask');
  const words = ['run', testServer, '--name', 'asked', '--', 'echo'];

  const refused = await other.thv(...words);
  const terminal = openTerminal(other, words);
  await terminal.shows('Which network access? public');
  terminal.type('none\r');
  const answered = await terminal.ended;
  const permissions = await other.mustThv('permission', 'show', 'asked');

  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining('Hint: add --permission-profile with public, none, or a file'),
  ]);
  expect([answered, permissions]).toEqual([0, expect.stringContaining('Network: none')]);
});
