import { describe, expect, test } from 'vitest';
import { readClientDocument } from './client-document.ts';
import { previewOf } from './testing/read-document.ts';

const github = {
  name: 'github',
  type: 'server',
  image: 'mcp/github@sha256:01',
  remote: {},
  secrets: [{ name: 'github.token', env: 'GITHUB_TOKEN' }],
  env: [{ name: 'GITHUB_OWNER', value: '{{github.owner}}' }],
  command: ['--read-only', '--host={{github.host}}'],
  tools: [{ name: 'get_me' }, { name: 'delete_repo' }],
};
const notion = { name: 'notion', type: 'remote', image: '', remote: { url: 'https://mcp.notion.com/mcp' } };

const profile = (...servers: object[]): object => ({ version: 1, id: 'dev', name: 'Dev', servers });

test('the servers of a profile have their settings, their tools, and open secrets', async () => {
  const servers = await previewOf(
    profile(
      {
        type: 'image',
        image: github.image,
        secrets: 'default',
        config: { owner: 'acme', host: 'example.com' },
        tools: ['get_me'],
        snapshot: { server: github },
      },
      { type: 'remote', endpoint: 'https://mcp.notion.com/mcp', snapshot: { server: notion } },
    ),
  );

  expect(servers).toMatchObject([
    {
      name: 'github',
      request: {
        image: github.image,
        cmd_arguments: ['--read-only', '--host=example.com'],
        env_vars: { GITHUB_OWNER: 'acme' },
        volumes: [],
        tools: ['get_me'],
      },
      needs: [{ kind: 'variable', name: 'GITHUB_TOKEN', secret: true }],
      notes: [],
    },
    { name: 'notion', request: { url: 'https://mcp.notion.com/mcp' }, needs: [], notes: [] },
  ]);
});

test('mounts and hosts of a profile are only named, and a server without tools is off', async () => {
  const server = {
    name: 'files',
    image: 'mcp/files',
    volumes: ['{{files.paths|volume|into}}'],
    allowHosts: ['example.com:443'],
    user: 'root',
    disableNetwork: true,
  };

  const [files] = await previewOf(profile({ type: 'image', tools: [], snapshot: { server } }));

  expect(files?.request).toMatchObject({ image: 'mcp/files', network_mode: 'none', volumes: [] });
  expect(files?.notes).toEqual([
    'the server is disabled in the configuration',
    'not imported: volumes, user, allowHosts. Check whether the server needs them',
  ]);
});

test('a server of a profile that is only referred to has a problem, and the others arrive', async () => {
  const servers = await previewOf(
    profile(
      { type: 'registry', source: 'https://registry.example.com/v0/servers/1' },
      { type: 'image', image: 'mcp/time', snapshot: { server: { name: 'time', image: 'mcp/time' } } },
    ),
  );

  expect(servers.map(({ problem }) => problem !== undefined)).toEqual([true, false]);
});

test('a small catalog and the description of one server can be imported', async () => {
  const catalog = await previewOf({ registry: { github: { ...github, config: [] }, notion } });
  const [alone] = await previewOf(github);

  expect(catalog.map(({ name }) => name)).toEqual(['github', 'notion']);
  expect(catalog[0]?.needs.map(({ name }) => name)).toEqual(['GITHUB_OWNER', 'GITHUB_TOKEN', 'host']);
  expect(alone?.request).toEqual(catalog[0]?.request);
  expect(alone?.request).not.toHaveProperty('tools');
});

test("the source of an entry in Docker's catalog keeps its secrets, arguments, and limits", async () => {
  const [files] = await previewOf({
    name: 'files',
    type: 'server',
    image: 'mcp/files',
    source: { project: 'https://github.com/acme/files' },
    run: {
      command: ['--root', '{{files.root|volume-target}}'],
      volumes: ['{{files.root|volume}}'],
      disableNetwork: true,
      env: { MCP_MODE: 'stdio' },
    },
    config: {
      secrets: [{ name: 'files.token', env: 'FILES_TOKEN', example: 'x' }],
      env: [{ name: 'FILES_OWNER', value: '{{files.owner}}' }],
      parameters: { type: 'object', properties: { owner: { type: 'string' } }, required: ['owner'] },
    },
  });

  expect(files).toMatchObject({
    request: {
      image: 'mcp/files',
      network_mode: 'none',
      cmd_arguments: ['--root', '${files.root}'],
      env_vars: { MCP_MODE: 'stdio' },
      volumes: [],
    },
    notes: ['not imported: volumes. Check whether the server needs it'],
  });
  expect(files?.needs.map(({ name }) => name)).toEqual(['FILES_OWNER', 'FILES_TOKEN', 'root']);
});

describe('the parameters of a server', () => {
  const aws = {
    name: 'aws',
    type: 'server',
    image: 'mcp/aws',
    run: { command: ['--endpoint={{aws.endpoint}}', '--log={{aws.log|volume-target}}'] },
    config: {
      secrets: [
        { name: 'aws.key', env: 'AWS_KEY', description: 'Your key.' },
        { name: 'aws.session', env: 'AWS_SESSION', required: false },
      ],
      env: [
        { name: 'AWS_REGION', value: '{{aws.region}}' },
        { name: 'AWS_ACCOUNT', value: '{{aws.account}}' },
        { name: 'AWS_PROFILE', value: '{{aws.profile}}' },
        { name: 'AWS_URL', value: 'https://{{aws.jira.host}}/' },
      ],
      parameters: {
        type: 'object',
        properties: {
          region: { type: 'string', default: 'us-east-1' },
          endpoint: { type: 'string', default: 'global' },
          log: { type: 'string', default: '/Users/demo/log' },
          account: { type: 'string', description: 'Whose servers.' },
          profile: { type: 'string' },
          jira: { type: 'object', properties: { host: { type: 'string' } }, required: ['host'] },
        },
        required: ['region', 'account'],
      },
    },
  };
  const inCatalog = {
    ...aws,
    ...aws.run,
    ...aws.config,
    config: [{ name: 'aws', ...aws.config.parameters }],
  };

  test.each([
    ['in the source of the catalog', aws],
    ['in the catalog', { registry: { aws: inCatalog } }],
  ])(
    '%s have their defaults and descriptions, and the optional ones are only named',
    async (_title, document) => {
      const [server] = await previewOf(document);

      expect(server).toMatchObject({
        request: {
          env_vars: { AWS_REGION: 'us-east-1' },
          cmd_arguments: ['--endpoint=global', '--log=${aws.log}'],
        },
        needs: [
          { name: 'AWS_ACCOUNT', secret: false, description: 'Whose servers.' },
          { name: 'AWS_URL', secret: false },
          { name: 'AWS_KEY', secret: true, description: 'Your key.' },
          { kind: 'placeholder', name: 'log' },
        ],
      });
      expect(server?.notes).toContain('optional, and not set: AWS_PROFILE, AWS_SESSION');
      expect(server?.request?.env_vars).toEqual({ AWS_REGION: 'us-east-1' });
    },
  );

  test('take the switches and lists of a profile', async () => {
    const server = {
      name: 'files',
      image: 'mcp/files',
      command: ['{{files.paths|volume-target|into}}'],
      env: [{ name: 'ALLOW_WRITE', value: '{{files.allow_write}}' }],
    };
    const config = { paths: ['/home/ada/notes', '/home/ada/work'], allow_write: false };

    const [files] = await previewOf(profile({ type: 'image', config, snapshot: { server } }));

    expect(files?.request).toMatchObject({
      cmd_arguments: ['/home/ada/notes', '/home/ada/work'],
      env_vars: { ALLOW_WRITE: 'false' },
    });
  });
});

test('a list that many words repeat does not become arguments', () => {
  const config = { paths: Array(20_000).fill('x') as string[] };
  const command = Array(20_000).fill('{{files.paths}}') as string[];
  const document = profile({ type: 'image', config, snapshot: { server: { ...github, command } } });

  const { entries } = readClientDocument(JSON.stringify(document), 'the file');

  expect(entries.map(({ entry }) => entry['args'])).toEqual([
    expect.arrayContaining(['${files.paths}']) as string[],
  ]);
  expect(JSON.stringify(entries).length).toBeLessThan(1_000_000);
});

test('the secrets in the variables of a server, and variables without values, are asked for', async () => {
  const [notion] = await previewOf({
    ...github,
    command: [],
    secrets: [{ name: 'notion.token', env: 'NOTION_TOKEN' }],
    env: [
      { name: 'HEADERS', value: '{"Authorization": "Bearer $NOTION_TOKEN", "X-Price": "$5"}' },
      { name: 'OTHER_KEY', example: 'your_key' },
      { name: 'notion.code', env: 'NOTION_CODE', example: 'your_code' },
    ],
  });

  expect(notion?.request?.env_vars).toEqual({});
  expect(notion?.needs.map(({ name, secret }) => [name, secret])).toEqual([
    ['HEADERS', true],
    ['OTHER_KEY', true],
    ['NOTION_CODE', true],
    ['NOTION_TOKEN', true],
  ]);
});

test("Docker's whole catalog is not imported, but gets a hint", async () => {
  const registry = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`s${index}`, github]));

  await expect(previewOf({ registry })).rejects.toMatchObject({
    hint: expect.stringContaining('docker mcp profile export'),
  });
});
