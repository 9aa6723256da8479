// The daemon's part of a workload in front of a stdio server: `node governed.ts plain|governed [OTLP_ENDPOINT]`. Governed
// means with token validation, policies, an audit log of every call, and telemetry.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { openCore } from '@toolhive/core/core';
import { createWorkload } from '@toolhive/core/create';
import { openIdProvider } from '@toolhive/access/testing/openid-provider';
import type { OpenIdProvider } from '@toolhive/access/testing/openid-provider';
import type { Runtime } from '@toolhive/runtime/runtime';
import { pino } from 'pino';
import { serveParent } from '../child.ts';
import { startStdio } from './stdio-instance.ts';
import { image } from './tiny-servers.ts';

const [kind = 'plain', endpoint = ''] = process.argv.slice(2);
const audience = 'toolhive';

const runtime: Runtime = {
  name: 'memory',
  capabilities: {
    runs: 'images',
    runsBundles: false,
    publishesPorts: false,
    recordsIsolation: false,
    mountsByPath: false,
  },
  homes: { exists: async () => false, measure: async () => undefined, remove: async () => {} },
  check: async () => ({
    runtime: 'memory',
    available: true,
    detail: 'a process for each server',
    limits: [],
  }),
  prepare: async (source) => source,
  start: async () => startStdio(new URL('./stdio-echo.ts', import.meta.url)).instance,
  sweep: async () => {},
};

function governance({ issuer }: OpenIdProvider): Partial<CreateWorkload> {
  const policies = [
    'permit(principal == Client::"bench", action == Action::"call_tool", resource == Tool::"echo");',
    'forbid(principal, action, resource) when { context has claim_roles && context.claim_roles.contains("guest") };',
  ];
  return {
    oidc: { issuer, audience },
    authz_config: JSON.stringify({ version: '1.0', type: 'cedarv1', cedar: { policies } }),
    audit_config: { max_data_size: 1024 },
    telemetry_config: {
      endpoint,
      insecure: true,
      samplingRate: 0.1,
      tracingEnabled: true,
      metricsEnabled: true,
    },
  };
}

const home = await mkdtemp(join(tmpdir(), 'thv-bench-'));
await using opened = new AsyncDisposableStack();
opened.defer(() => rm(home, { recursive: true, force: true }));
const provider = opened.use(await openIdProvider());
const core = opened.use(
  await openCore({
    env: { PATH: process.env['PATH'], HOME: home },
    version: 'v0.0.0',
    log: pino({ level: 'silent' }),
    runtimes: () => [runtime],
  }),
);
const { name, port } = await createWorkload(
  core,
  { image, sessions: 'shared', ...(kind === 'governed' ? governance(provider) : {}) },
  { report() {}, signal: new AbortController().signal },
);
await core.workloads.require(name).follow(() => {});
const token =
  kind === 'governed'
    ? await provider.sign({ iss: provider.issuer, aud: audience, sub: 'bench', roles: ['user'] }, '1h')
    : undefined;
const everything = opened.move();
serveParent({ port, token }, () => everything.disposeAsync());
