import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { invalid, notImplemented } from '@toolhive/contract/failure';
import { CreateWorkload } from '@toolhive/contract/workload';
import { understand } from '../../program.ts';
import { program } from '../commands.ts';
import { namingFlags, requestFlags, requestFrom } from './request.ts';
import type { ServerKind } from './request.ts';
import { runFlags } from './run-flags.ts';

/** Those that say how it is run, and not what. */
const ownFlags = ['config', 'dry-run', 'foreground', 'format', 'from-config', 'store-secrets'];

let folder: string;
let file: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'thv-request-'));
  file = join(folder, 'file.json');
  await writeFile(file, '{"toolsOverride":{"echo":{"name":"say"}}}');
});
afterAll(() => rm(folder, { recursive: true }));

test('every flag of run becomes part of the request', () => {
  expect(requestFlags().toSorted()).toEqual(
    runFlags
      .map(({ name }) => name)
      .filter((name) => !ownFlags.includes(name))
      .toSorted(),
  );
});

test('nothing is asked for when nothing is given', async () => {
  expect(await request('local')).toEqual({});
});

test('a typed port of this machine is the consent to it', async () => {
  const asked = await request('local', ['--allow-local-port', '5432', '--allow-local-port', '6379']);

  expect(asked).toEqual({ local_ports: [5432, 6379], accepted_risks: ['local-ports'] });
});

test.each(['0', '65536', '5432/udp', '5000-5010', '-1', '1e3', ''])(
  '%j is not a port of this machine',
  async (port) => {
    await expect(request('local', [`--allow-local-port=${port}`])).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('invalid --allow-local-port'),
    });
  },
);

test('limits are passed on as they were typed', async () => {
  const asked = await request(
    'local',
    ['--memory', '512m', '--cpus', '0.5', '--pids', '100'],
    ['--disk', '1.5GiB', '--open-files', '1024'],
  );

  expect(CreateWorkload.parse(asked)).toEqual({
    resources: { memory: '512m', cpus: '0.5', pids: '100', disk: '1.5GiB', open_files: '1024' },
  });
});

test('a limit that is out of range is refused with its flag', async () => {
  await expect(request('local', ['--open-files', '10'])).rejects.toMatchObject({
    kind: 'invalid',
    message: 'invalid --open-files: "10" is too small',
    hint: 'use a whole number from 64 to 1048576',
  });
});

test('a local server', async () => {
  const asked = await request(
    'local',
    ['--transport', 'sse', '--target-port', '9000', '--target-host', 'localhost', '--ca-cert', file],
    [
      '--permission-profile',
      'stdio',
      '--isolate-network',
      '--print-resolved-overlays',
      '--k8s-pod-patch',
      '{}',
    ],
    ['--authz-config', 'policies.json', '--enable-audit', '--trust-proxy-headers', '--tools-override', file],
  );

  expect(CreateWorkload.parse(asked)).toEqual({
    transport: 'sse',
    target_port: 9000,
    ca_certificate: '{"toolsOverride":{"echo":{"name":"say"}}}',
    permission_profile: { name: 'none', network: { outbound: {} } },
    network_isolation: true,
    ignore_config: { printOverlays: true },
    k8s_pod_template_patch: '{}',
    authz_config: join(process.cwd(), 'policies.json'),
    audit_config: { max_data_size: 1024 },
    trust_proxy_headers: true,
    tools_override: { echo: { name: 'say' } },
  });
});

test('the headers of a remote server, with and without a secret', async () => {
  const asked = await request(
    'remote',
    ['--remote-forward-headers', 'X-Tenant-ID=a=b'],
    ['--remote-forward-headers-secret', 'Authorization=JINA_AUTHORIZATION'],
  );

  expect(CreateWorkload.parse(asked).headers).toEqual([
    { name: 'X-Tenant-ID', description: '', required: true, secret: false, default: 'a=b' },
    {
      name: 'Authorization',
      description: '',
      required: true,
      secret: true,
      default: 'JINA_AUTHORIZATION,target=Authorization',
    },
  ]);
  await expect(request('local', ['--remote-forward-headers', 'a=b'])).rejects.toThrow(
    '--remote-forward-headers is not supported for a local server',
  );
  const unreadable = await request('remote', ['--remote-forward-headers', 'bad name=b']);
  expect(() => CreateWorkload.parse(unreadable)).toThrow('is not the name of a header');
});

test('ports in the form of the original', async () => {
  const asked = await request('local', ['-p', '9876:9876']);

  expect(CreateWorkload.parse(asked)).toEqual({ publish: ['9876:9876'], accepted_risks: ['publish-ports'] });
});

test('an audit configuration with the names of later versions', async () => {
  const path = join(folder, 'audit.json');
  await writeFile(path, '{"logFile":"audit.log","eventTypes":["mcp_tool_call"],"includeRequestData":true}');

  const asked = await request('local', ['--audit-config', path]);

  expect(CreateWorkload.parse(asked).audit_config).toEqual({
    log_file: join(process.cwd(), 'audit.log'),
    event_types: ['mcp_tool_call'],
    include_request_data: true,
  });
});

test('a remote server', async () => {
  const asked = await request(
    'remote',
    ['--remote-auth', '--remote-auth-issuer', 'https://id.example', '--remote-auth-client-id', 'me'],
    [
      '--remote-auth-authorize-url',
      'https://id.example/a',
      '--remote-auth-token-url',
      'https://id.example/t',
    ],
    ['--remote-auth-scopes', 'one,two', '--remote-auth-scopes', 'three', '--remote-auth-skip-browser'],
    ['--remote-auth-callback-port', '8666', '--remote-auth-timeout', '1m30s'],
  );

  expect(CreateWorkload.parse(asked)).toEqual({
    oauth_config: {
      issuer: 'https://id.example',
      client_id: 'me',
      authorize_url: 'https://id.example/a',
      token_url: 'https://id.example/t',
      scopes: ['one', 'two', 'three'],
      skip_browser: true,
      callback_port: 8666,
      timeout: '90000ms',
    },
  });
});

test('tokens that callers must send, and tokens that are traded', async () => {
  const asked = await request(
    'local',
    [
      '--oidc-issuer',
      'https://id.example',
      '--oidc-audience',
      'me',
      '--oidc-jwks-url',
      'https://id.example/j',
    ],
    [
      '--oidc-introspection-url',
      'https://id.example/i',
      '--oidc-client-id',
      'id',
      '--oidc-client-secret',
      'x',
    ],
    ['--resource-url', 'https://mcp.example', '--jwks-allow-private-ip', '--oidc-insecure-allow-http'],
    ['--jwks-auth-token-file', '/token', '--thv-ca-bundle', '/ca.pem'],
    ['--token-exchange-url', 'https://id.example/t', '--token-exchange-audience', 'it'],
    [
      '--token-exchange-client-id',
      'id',
      '--token-exchange-scopes',
      'one',
      '--token-exchange-header-name',
      'X',
    ],
    ['--token-exchange-subject-token-type', 'id_token'],
  );

  expect(CreateWorkload.parse(asked)).toEqual({
    oidc: {
      issuer: 'https://id.example',
      audience: 'me',
      jwks_url: 'https://id.example/j',
      introspection_url: 'https://id.example/i',
      client_id: 'id',
      client_secret: 'x',
      resource_url: 'https://mcp.example',
      allow_private_ip: true,
      insecure_allow_http: true,
      auth_token_file: '/token',
      ca_bundle: '/ca.pem',
    },
    token_exchange: {
      token_url: 'https://id.example/t',
      audience: 'it',
      client_id: 'id',
      scopes: ['one'],
      header_name: 'X',
      subject_token_type: 'id_token',
    },
  });
});

test('telemetry', async () => {
  const asked = await request(
    'local',
    ['--otel-endpoint', 'localhost:4318', '--otel-service-name', 'me', '--otel-tracing-enabled=false'],
    [
      '--otel-metrics-enabled',
      '--otel-sampling-rate',
      '0.5',
      '--otel-headers',
      'a=b',
      '--otel-headers',
      'c=d=e',
    ],
    ['--otel-insecure', '--otel-enable-prometheus-metrics-path', '--otel-env-vars', 'HOME'],
    ['--otel-custom-attributes', 'x=1,y=2'],
  );

  expect(CreateWorkload.parse(asked)).toEqual({
    telemetry_config: {
      endpoint: 'localhost:4318',
      serviceName: 'me',
      tracingEnabled: false,
      metricsEnabled: true,
      samplingRate: 0.5,
      headers: { a: 'b', c: 'd=e' },
      insecure: true,
      enablePrometheusMetricsPath: true,
      environmentVariables: ['HOME'],
      customAttributes: { x: '1', y: '2' },
    },
  });
});

describe('what is not available yet', () => {
  test('is named by the flags that asked for it', async () => {
    const flags = await flagsFrom(
      '--oidc-issuer',
      'https://id.example',
      '--resource-url',
      'https://mcp.example',
    );

    expect(
      namingFlags(notImplemented('it is not available yet, so oidc is not supported'), flags),
    ).toMatchObject({
      kind: 'not-implemented',
      hint: 'omit --oidc-issuer and --resource-url',
    });
  });

  test('is named by the flag in a message about a wrong value', async () => {
    const flags = await flagsFrom('--k8s-pod-patch', '[]');

    expect(
      namingFlags(invalid('invalid k8s_pod_template_patch: wrong', { hint: 'write' }), flags),
    ).toMatchObject({
      message: 'invalid --k8s-pod-patch: wrong',
      hint: 'write',
    });
  });

  test('is told as it is when no flag asked for it', async () => {
    const failure = notImplemented('something else is not available yet');

    expect(namingFlags(failure, await flagsFrom())).toBe(failure);
  });
});

async function request(kind: ServerKind, ...groups: string[][]): Promise<unknown> {
  return requestFrom(await flagsFrom(...groups.flat()), kind);
}

async function flagsFrom(...words: string[]) {
  const understood = await understand(program, ['run', 'anything', ...words]);
  if ('help' in understood) throw new Error('help was understood');
  return understood.flags;
}

test('a permission profile with a misspelt key is refused by name', async () => {
  const profile = join(folder, 'profile.json');
  await writeFile(
    profile,
    JSON.stringify({ read: ['/a'], network: { outbund: { allow_host: ['a.example'] } } }),
  );

  const asked = request('local', ['--permission-profile', profile]);

  await expect(asked).rejects.toMatchObject({ message: expect.stringContaining('network.outbund') });
});
