import { expect, test } from 'vitest';
import { readClientDocument } from './client-document.ts';
import { readClientEntry } from './client-entry.ts';
import { previewOf } from './testing/read-document.ts';

const grafana = {
  name: 'grafana',
  mcpServers: { grafana: { command: 'uvx', args: ['mcp-grafana'], env: { LOG_LEVEL: 'info' } } },
  settings: [
    { name: 'URL', description: 'The base URL.', envVar: 'GRAFANA_URL', required: true },
    { name: 'Service Account Token', envVar: 'GRAFANA_TOKEN', required: true },
    { name: 'Passphrase', envVar: 'GRAFANA_WORDS', sensitive: true, required: true },
    { name: 'Organization', envVar: 'GRAFANA_ORG_ID' },
    { name: 'Region', envVar: 'GRAFANA_REGION', defaultValue: 'eu' },
  ],
};

test('every server in an extension gets the variables from its settings', async () => {
  const [server] = await previewOf(grafana);

  expect(server).toMatchObject({
    request: { image: 'uvx://mcp-grafana' },
    needs: [
      { name: 'GRAFANA_URL', description: 'The base URL.', secret: false },
      { name: 'GRAFANA_TOKEN', description: 'Service Account Token', secret: true },
      { name: 'GRAFANA_WORDS', secret: true },
    ],
    notes: ['optional, and not set: GRAFANA_ORG_ID'],
  });
  expect(server?.request?.env_vars).toEqual({ LOG_LEVEL: 'info', GRAFANA_REGION: 'eu' });
});

test("the user's own variable is the value of a setting", async () => {
  const { entries, inputs } = readClientDocument(JSON.stringify(grafana), 'the file');
  const [entry] = entries;
  const env = { GRAFANA_URL: 'https://grafana.example.com', GRAFANA_REGION: 'us' };

  const server = await readClientEntry(entry!, { env, inputs, directory: '/x', readFile: async () => '' });

  expect(server.request.env_vars).toMatchObject(env);
});

test('settings do not belong to remote servers, and never replace the values of an entry', async () => {
  const servers = await previewOf({
    ...grafana,
    mcpServers: {
      remote: { httpUrl: 'https://grafana.example.com/mcp', headers: { 'X-Org': '${GRAFANA_ORG_ID}' } },
      fixed: { command: 'uvx', args: ['mcp-grafana'], env: { GRAFANA_URL: 'http://10.0.0.1' } },
    },
    settings: grafana.settings.slice(0, 1).concat(grafana.settings.slice(3, 4)),
  });

  expect(servers).toMatchObject([
    { needs: [], notes: ['optional, and not set: X-Org'] },
    { request: { env_vars: { GRAFANA_URL: 'http://10.0.0.1' } }, needs: [] },
  ]);
});

test('a setting that is an argument is asked for once', async () => {
  const [server] = await previewOf({
    mcpServers: { redis: { command: 'uvx', args: ['redis-mcp', '--url', '${REDIS_URL}'] } },
    settings: [{ name: 'URL', description: 'Where Redis is.', envVar: 'REDIS_URL', sensitive: true }],
  });

  expect(server).toMatchObject({
    needs: [{ kind: 'placeholder', name: 'REDIS_URL', description: 'Where Redis is.', secret: true }],
    notes: [],
  });
});

test('the options of a plugin have their descriptions, defaults, and secrets', async () => {
  const [server] = await previewOf({
    name: 'deploy',
    userConfig: {
      endpoint: { type: 'string', title: 'Endpoint', description: 'The API of your team', sensitive: false },
      words: { type: 'string', title: 'Pass phrase', sensitive: true },
      retries: { type: 'number', default: 3 },
      team: { type: 'string', required: false },
    },
    mcpServers: {
      deploy: {
        command: 'npx',
        args: ['-y', 'deploy-mcp', '--retries', '${user_config.retries}'],
        env: {
          ENDPOINT: '${user_config.endpoint}',
          WORDS: '${user_config.words}',
          TEAM: '${user_config.team}',
        },
      },
    },
  });

  expect(server).toMatchObject({
    request: { cmd_arguments: ['--retries', '3'] },
    needs: [
      { name: 'ENDPOINT', description: 'The API of your team', secret: false },
      { name: 'WORDS', description: 'Pass phrase', secret: true },
    ],
    notes: ['optional, and not set: TEAM'],
  });
});

test('thousands of settings for thousands of servers are left out', () => {
  const settings = Array.from({ length: 8_000 }, (_, index) => ({ name: 'x', envVar: `NAME_${index}` }));
  const named = Array.from({ length: 4_000 }, (_, index) => [
    `server-${index}`,
    { command: 'npx', args: ['x'] },
  ]);
  const extension = { name: 'large', settings, mcpServers: Object.fromEntries(named) as object };

  const { entries } = readClientDocument(JSON.stringify(extension), 'the file');

  expect(entries).toHaveLength(4_000);
  expect(entries.filter(({ entry }) => entry['env'] !== undefined)).toEqual([]);
});
