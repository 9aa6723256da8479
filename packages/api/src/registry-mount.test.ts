import { openAccess } from '@toolhive/access/access';
import { ApiPolicies } from '@toolhive/access/api-policies';
import { builtInRegistry } from '@toolhive/registry/built-in';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { apiActions } from './authorization.ts';
import { openTestApi } from './testing/test-api.ts';

// The daemon as an MCP registry for other programs.

/** A server in the format of 2025-12-11, with all rules of that format that apply to ToolHive's servers. */
const Url = z.url();
const Input = z.looseObject({
  name: z.string().min(1),
  description: z.string(),
  isRequired: z.boolean(),
  isSecret: z.boolean(),
  default: z.string().optional(),
});
const Http = z.looseObject({
  type: z.enum(['streamable-http', 'sse']),
  url: Url,
  headers: z.array(Input).optional(),
});
const OfficialServer = z.looseObject({
  name: z
    .string()
    .min(3)
    .max(200)
    .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
  description: z.string().min(1).max(100),
  title: z.string().min(1).max(100).optional(),
  version: z
    .string()
    .min(1)
    .max(255)
    .regex(/^(?!latest$)[^\s^~<>=*]+$/),
  websiteUrl: Url.optional(),
  repository: z.looseObject({ url: Url, source: z.string().min(1) }).optional(),
  packages: z
    .array(
      z.looseObject({
        registryType: z.enum(['npm', 'pypi', 'oci', 'go']),
        identifier: z.string().min(1),
        version: z
          .string()
          .min(1)
          .regex(/^(?!latest$)/)
          .optional(),
        transport: z.union([z.looseObject({ type: z.literal('stdio') }), Http]),
        packageArguments: z.array(z.looseObject({ type: z.literal('positional'), value: z.string() })),
        environmentVariables: z.array(Input),
      }),
    )
    .optional(),
  remotes: z.array(Http).optional(),
});
const OfficialList = z.object({
  servers: z.array(
    z.object({
      server: OfficialServer,
      _meta: z.object({
        'io.modelcontextprotocol.registry/official': z.strictObject({
          status: z.enum(['active', 'deprecated', 'deleted']),
          isLatest: z.boolean(),
          publishedAt: z.iso.datetime().optional(),
          updatedAt: z.iso.datetime().optional(),
        }),
      }),
    }),
  ),
  metadata: z.object({ nextCursor: z.string().optional(), count: z.int() }),
});

test('lists every built-in server in the format of the MCP registry', async () => {
  await using api = await openTestApi();
  const found: string[] = [];
  let cursor: string | undefined;

  do {
    const after = cursor === undefined ? '' : `&cursor=${cursor}`;
    const { status, json } = await api.get(`/api/registry/v0.1/servers?limit=100${after}`);
    expect(status).toBe(200);
    const { servers, metadata } = OfficialList.parse(json);
    found.push(...servers.map(({ server }) => server.name));
    cursor = metadata.nextCursor;
  } while (cursor !== undefined);

  const keys = [...Object.keys(builtInRegistry.servers), ...Object.keys(builtInRegistry.remote_servers)];
  expect(found.toSorted()).toEqual(keys.map((key) => `dev.toolhive/${key}`).toSorted());
});

test('answers for one server, and with JSON errors', async () => {
  await using api = await openTestApi();

  const one = await api.get(
    `/api/registry/v0.1/servers/${encodeURIComponent('dev.toolhive/fetch')}/versions/latest`,
  );
  const missing = await api.get('/api/registry/v0.1/servers/a%2Fb/versions');
  const published = await api.post('/api/registry/v0.1/publish', {});

  expect([one.status, missing.status, published.status]).toEqual([200, 404, 501]);
  expect(missing.json).toMatchObject({ error: 'Server not found' });
});

test('answers only callers that may list registry entries', async () => {
  const tokens = { reader: 'a-token-for-reading-only', nothing: 'a-token-for-nothing-at-all' };
  const cedar = {
    policies: ['permit(principal == Client::"token:reader", action in Action::"read", resource);'],
  };
  using policies = await ApiPolicies.open({ cedar }, apiActions);
  await using api = await openTestApi({}, { access: openAccess({ tokens }), policies });
  const statusFor = async (token?: string): Promise<number> =>
    (
      await api.get(
        '/api/registry/v0.1/servers',
        token === undefined ? {} : { authorization: `Bearer ${token}` },
      )
    ).status;

  expect(await statusFor(tokens.reader)).toBe(200);
  expect(await statusFor(tokens.nothing)).toBe(403);
  expect(await statusFor()).toBe(401);
});

test('is a registry that another daemon reads, page by page, with the same servers', async () => {
  await using source = await openTestApi();
  await using reader = await openTestApi();

  await reader.client.updateRegistry({
    params: { name: 'default' },
    body: { url: `http://127.0.0.1:${source.port}/api/registry`, allow_private_ip: true },
  });

  const registry = { params: { name: 'default' }, query: {} };
  const { skipped_count: skipped } = await reader.client.getRegistry(registry);
  const read = await reader.client.listRegistryServers(registry);
  const served = await source.client.listRegistryServers(registry);
  const sameFields = ({ servers, remote_servers: remotes }: typeof read) =>
    [...servers, ...remotes].map(({ custom_metadata: _custom, ...entry }) => withoutEmptyLists(entry));
  expect(skipped).toBeUndefined();
  expect(sameFields(read)).toEqual(sameFields(served));
});

/** The MCP registry's format does not distinguish an absent list from an empty one. */
function withoutEmptyLists(entry: object): object {
  return Object.fromEntries(
    Object.entries(entry).filter(([, value]) => !(Array.isArray(value) && value.length === 0)),
  );
}
