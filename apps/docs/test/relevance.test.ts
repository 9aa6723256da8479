import { readFile } from 'node:fs/promises';
import { brotliCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { siteFolder } from '../../../scripts/build-docs.ts';
import { glossary } from '../src/plugins/references/glossary.ts';
import { answer, type Hit } from '../src/search/answer.ts';
import { openLibrary, type SearchIndex } from '../src/search/library.ts';
import { indexFile } from '../src/search/records.ts';
import { commonSearches } from '../src/search/suggestions.ts';

/** What readers type, and the pages that answer it: whole words, mistakes, beginnings of words, questions. */
const queries: readonly (readonly [query: string, ...pages: string[]])[] = [
  // whole words
  ['install', '/toolhive/guides-cli/install', '/toolhive/guides-ui/install'],
  [
    'quickstart',
    '/toolhive/quickstart',
    '/toolhive/tutorials/quickstart-cli',
    '/toolhive/tutorials/quickstart-ui',
  ],
  ['run mcp servers', '/toolhive/guides-cli/run-mcp-servers', '/toolhive/guides-ui/run-mcp-servers'],
  ['secrets', '/toolhive/guides-cli/secrets-management', '/toolhive/guides-ui/secrets-management'],
  ['network isolation', '/toolhive/guides-cli/network-isolation', '/toolhive/guides-ui/network-isolation'],
  ['permission profile', '/toolhive/guides-cli/custom-permissions'],
  ['thvignore', '/toolhive/guides-cli/thvignore'],
  [
    'groups',
    '/toolhive/guides-cli/group-management',
    '/toolhive/guides-ui/group-management',
    '/toolhive/reference/cli/thv_group',
  ],
  ['registry schema', '/toolhive/reference/registry-schema'],
  ['custom registry', '/toolhive/tutorials/custom-registry', '/toolhive/guides-cli/registry'],
  ['telemetry', '/toolhive/guides-cli/telemetry-and-metrics', '/toolhive/guides-k8s/telemetry-and-metrics'],
  ['opentelemetry', '/toolhive/tutorials/opentelemetry'],
  [
    'prometheus',
    '/toolhive/guides-cli/telemetry-and-metrics',
    '/toolhive/concepts/observability',
    '/toolhive/tutorials/opentelemetry',
  ],
  ['vault', '/toolhive/tutorials/vault-integration'],
  [
    'kubernetes operator',
    '/toolhive/guides-k8s/',
    '/toolhive/guides-k8s/intro',
    '/toolhive/guides-k8s/deploy-operator-helm',
  ],
  ['helm', '/toolhive/guides-k8s/deploy-operator-helm'],
  ['crd', '/toolhive/reference/crd-spec'],
  [
    'api server',
    '/toolhive/guides-cli/api-server',
    '/toolhive/reference/api',
    '/toolhive/reference/cli/thv_serve',
  ],
  ['client compatibility', '/toolhive/reference/client-compatibility'],
  ['playground', '/toolhive/guides-ui/playground'],
  ['build containers', '/toolhive/guides-cli/build-containers'],
  ['github', '/toolhive/guides-mcp/github'],
  ['playwright', '/toolhive/guides-mcp/playwright'],
  ['what is mcp', '/toolhive/concepts/mcp-primer', '/toolhive/faq', '/toolhive/'],
  ['faq', '/toolhive/faq'],
  // commands and flags
  ['thv run', '/toolhive/reference/cli/thv_run'],
  ['thv secret set', '/toolhive/reference/cli/thv_secret_set'],
  ['thv_proxy_stdio', '/toolhive/reference/cli/thv_proxy_stdio'],
  ['set-ca-cert', '/toolhive/reference/cli/thv_config_set-ca-cert'],
  ['logs prune', '/toolhive/reference/cli/thv_logs_prune'],
  ['runtime check', '/toolhive/reference/cli/thv_runtime_check'],
  // mistakes
  ['secerts', '/toolhive/guides-cli/secrets-management', '/toolhive/guides-ui/secrets-management'],
  ['instal', '/toolhive/guides-cli/install', '/toolhive/guides-ui/install'],
  ['kuberntes', '/toolhive/guides-k8s/', '/toolhive/guides-k8s/intro', '/toolhive/tutorials/quickstart-k8s'],
  [
    'regsitry',
    '/toolhive/guides-cli/registry',
    '/toolhive/guides-ui/registry',
    '/toolhive/reference/cli/thv_registry',
  ],
  ['netwrok isolation', '/toolhive/guides-cli/network-isolation', '/toolhive/guides-ui/network-isolation'],
  ['telemtry', '/toolhive/guides-cli/telemetry-and-metrics', '/toolhive/guides-k8s/telemetry-and-metrics'],
  ['notoin', '/toolhive/guides-mcp/notion-remote'],
  // beginnings
  ['playw', '/toolhive/guides-mcp/playwright'],
  ['observ', '/toolhive/concepts/observability'],
  ['conte', '/toolhive/guides-mcp/context7'],
  ['run mcp serv', '/toolhive/guides-cli/run-mcp-servers', '/toolhive/guides-ui/run-mcp-servers'],
  ['client conf', '/toolhive/guides-cli/client-configuration', '/toolhive/guides-ui/client-configuration'],
  ['secrets man', '/toolhive/guides-cli/secrets-management', '/toolhive/guides-ui/secrets-management'],
  // questions
  ['how do I stop a server', '/toolhive/guides-cli/manage-mcp-servers', '/toolhive/reference/cli/thv_stop'],
  [
    'limit network access',
    '/toolhive/guides-cli/network-isolation',
    '/toolhive/guides-cli/custom-permissions',
  ],
  ['which clients work', '/toolhive/reference/client-compatibility'],
  ['mount a folder', '/toolhive/guides-cli/filesystem-access', '/toolhive/guides-mcp/filesystem'],
  // words of newcomers
  ['docker run mcp server', '/toolhive/guides-cli/run-mcp-servers'],
  ['npx', '/toolhive/guides-cli/run-mcp-servers'],
  ['uvx', '/toolhive/guides-cli/run-mcp-servers'],
  ['env var', '/toolhive/guides-cli/configure-servers', '/toolhive/reference/environment-variables'],
  [
    'environment variables',
    '/toolhive/reference/environment-variables',
    '/toolhive/guides-cli/configure-servers',
  ],
  ['api key', '/toolhive/guides-cli/secrets-management', '/toolhive/guides-ui/secrets-management'],
  ['store a token', '/toolhive/guides-cli/secrets-management', '/toolhive/guides-ui/secrets-management'],
  ['keychain', '/toolhive/guides-cli/secrets-management'],
  ['password', '/toolhive/guides-cli/secrets-management', '/toolhive/guides-ui/secrets-management'],
  ['authentication', '/toolhive/guides-cli/authentication'],
  ['auth', '/toolhive/guides-cli/authentication'],
  ['oauth', '/toolhive/guides-cli/authentication', '/toolhive/guides-cli/remote-servers'],
  ['oidc', '/toolhive/guides-cli/authentication', '/toolhive/guides-cli/remote-servers'],
  ['sso', '/toolhive/guides-cli/authentication'],
  ['rbac', '/toolhive/guides-cli/authentication', '/toolhive/guides-k8s/deploy-operator-helm'],
  ['cedar policy', '/toolhive/guides-cli/authentication', '/toolhive/reference/cli/thv_authz_check'],
  ['whitelist', '/toolhive/guides-cli/network-isolation', '/toolhive/guides-cli/custom-permissions'],
  ['firewall', '/toolhive/guides-cli/network-isolation'],
  [
    'block internet access',
    '/toolhive/guides-cli/network-isolation',
    '/toolhive/guides-ui/network-isolation',
  ],
  ['bind mount', '/toolhive/guides-cli/filesystem-access'],
  ['volume', '/toolhive/guides-cli/filesystem-access'],
  ['share folder', '/toolhive/guides-cli/filesystem-access'],
  ['persistent data', '/toolhive/guides-cli/filesystem-access'],
  ['sqlite', '/toolhive/guides-cli/filesystem-access', '/toolhive/guides-cli/run-mcp-servers'],
  ['autocomplete', '/toolhive/guides-cli/install', '/toolhive/reference/cli/thv_completion'],
  ['upgrade thv', '/toolhive/guides-cli/install', '/toolhive/reference/cli/thv_upgrade'],
  ['update a server', '/toolhive/guides-cli/manage-mcp-servers', '/toolhive/reference/cli/thv_upgrade'],
  ['start at boot', '/toolhive/guides-cli/install', '/toolhive/reference/cli/thv_service_install'],
  ['systemd', '/toolhive/guides-cli/install', '/toolhive/reference/cli/thv_service_install'],
  ['windows', '/toolhive/guides-cli/install', '/toolhive/reference/platforms', '/toolhive/reference/storage'],
  ['macos', '/toolhive/guides-cli/install', '/toolhive/reference/platforms', '/toolhive/reference/storage'],
  ['podman', '/toolhive/guides-cli/install', '/toolhive/concepts/architecture'],
  ['daemon', '/toolhive/concepts/architecture', '/toolhive/', '/toolhive/guides-cli/api-server'],
  ['architecture', '/toolhive/concepts/architecture'],
  ['security model', '/toolhive/concepts/security-model'],
  ['threat model', '/toolhive/concepts/security-model'],
  ['prompt injection', '/toolhive/concepts/security-model'],
  ['tool poisoning', '/toolhive/concepts/security-model', '/toolhive/guides-cli/manage-mcp-servers'],
  ['sandbox', '/toolhive/concepts/architecture', '/toolhive/concepts/security-model', '/toolhive/'],
  ['troubleshooting', '/toolhive/troubleshooting'],
  ['server does not start', '/toolhive/troubleshooting', '/toolhive/guides-cli/manage-mcp-servers'],
  ['why is my server failing', '/toolhive/troubleshooting', '/toolhive/guides-cli/manage-mcp-servers'],
  ['permission denied', '/toolhive/troubleshooting', '/toolhive/guides-cli/filesystem-access'],
  ['docker not found', '/toolhive/troubleshooting', '/toolhive/requirements'],
  ['prerequisites', '/toolhive/requirements'],
  ['requirements', '/toolhive/requirements'],
  ['logs', '/toolhive/guides-cli/manage-mcp-servers', '/toolhive/reference/cli/thv_logs'],
  ['restart a server', '/toolhive/guides-cli/manage-mcp-servers', '/toolhive/reference/cli/thv_restart'],
  ['change a workload', '/toolhive/guides-cli/manage-mcp-servers'],
  ['memory limit', '/toolhive/guides-cli/configure-servers', '/toolhive/reference/limits'],
  ['limits', '/toolhive/reference/limits', '/toolhive/guides-cli/configure-servers'],
  ['exit codes', '/toolhive/reference/errors', '/toolhive/guides-cli/'],
  ['status codes', '/toolhive/reference/errors', '/toolhive/guides-cli/api-server'],
  [
    'config file',
    '/toolhive/reference/settings',
    '/toolhive/reference/storage',
    '/toolhive/guides-cli/client-configuration',
  ],
  ['settings', '/toolhive/reference/settings', '/toolhive/guides-ui/install'],
  [
    'where are the log files',
    '/toolhive/reference/storage',
    '/toolhive/guides-cli/manage-mcp-servers',
    '/toolhive/guides-cli/install',
  ],
  ['backup', '/toolhive/reference/storage'],
  ['glossary', '/toolhive/reference/glossary'],
  ['release notes', '/toolhive/reference/release-notes'],
  ['changelog', '/toolhive/reference/release-notes'],
  ['migrate', '/toolhive/reference/migration'],
  ['run config', '/toolhive/reference/run-config', '/toolhive/guides-cli/configure-servers'],
  ['claude desktop', '/toolhive/reference/client-compatibility', '/toolhive/guides-cli/client-configuration'],
  ['vs code', '/toolhive/guides-cli/client-configuration', '/toolhive/reference/client-compatibility'],
  ['mcp.json', '/toolhive/guides-cli/client-configuration', '/toolhive/reference/cli/thv_import'],
  ['stdio client', '/toolhive/guides-cli/client-configuration', '/toolhive/reference/client-compatibility'],
  [
    'corporate proxy',
    '/toolhive/guides-cli/build-containers',
    '/toolhive/faq',
    '/toolhive/guides-cli/network-isolation',
  ],
  [
    'ca certificate',
    '/toolhive/guides-cli/build-containers',
    '/toolhive/reference/cli/thv_config_set-ca-cert',
  ],
  ['dockerfile', '/toolhive/guides-cli/build-containers', '/toolhive/guides-cli/advanced-cicd'],
  ['github actions', '/toolhive/guides-cli/advanced-cicd'],
  ['verify image signature', '/toolhive/guides-cli/verify-servers'],
  ['supply chain', '/toolhive/guides-cli/verify-servers', '/toolhive/concepts/registry-criteria'],
  [
    'audit log',
    '/toolhive/guides-cli/telemetry-and-metrics',
    '/toolhive/concepts/observability',
    '/toolhive/reference/cli/thv_audit',
  ],
  [
    'grafana',
    '/toolhive/guides-cli/telemetry-and-metrics',
    '/toolhive/concepts/observability',
    '/toolhive/tutorials/opentelemetry',
  ],
  ['gui', '/toolhive/guides-ui/', '/toolhive/tutorials/quickstart-ui'],
  ['localhost not reachable', '/toolhive/guides-cli/network-isolation'],
  ['host.docker.internal', '/toolhive/guides-cli/network-isolation'],
  // tasks
  [
    'docker',
    '/toolhive/guides-cli/install',
    '/toolhive/guides-cli/build-containers',
    '/toolhive/guides-cli/advanced-cicd',
    '/toolhive/reference/cli/thv_runtime_check',
  ],
  ['delete a secret', '/toolhive/reference/cli/thv_secret_delete', '/toolhive/guides-cli/secrets-management'],
  [
    '1password',
    '/toolhive/guides-cli/secrets-management',
    '/toolhive/reference/cli/thv_secret_provider',
    '/toolhive/faq',
  ],
  ['cursor', '/toolhive/reference/client-compatibility', '/toolhive/guides-cli/client-configuration'],
  [
    'remote server',
    '/toolhive/guides-cli/remote-servers',
    '/toolhive/guides-ui/run-mcp-servers',
    '/toolhive/guides-mcp/notion-remote',
  ],
  ['filter tools', '/toolhive/guides-cli/configure-servers', '/toolhive/guides-k8s/customize-tools'],
  ['ci', '/toolhive/guides-cli/advanced-cicd'],
  [
    'read only folder',
    '/toolhive/guides-cli/filesystem-access',
    '/toolhive/guides-cli/custom-permissions',
    '/toolhive/guides-mcp/filesystem',
  ],
  ['uninstall', '/toolhive/guides-cli/install', '/toolhive/guides-ui/install'],
  ['proxy port', '/toolhive/guides-cli/configure-servers', '/toolhive/reference/cli/thv_run'],
  ['list running servers', '/toolhive/guides-cli/manage-mcp-servers', '/toolhive/reference/cli/thv_list'],
  ['inspector', '/toolhive/guides-cli/test-mcp-servers', '/toolhive/reference/cli/thv_inspector'],
  ['shell completion', '/toolhive/reference/cli/thv_completion', '/toolhive/guides-cli/install'],
  ['export a workload', '/toolhive/reference/cli/thv_export', '/toolhive/guides-cli/configure-servers'],
  ['update a secret', '/toolhive/guides-cli/secrets-management'],
  ['change port', '/toolhive/guides-cli/configure-servers'],
  ['rate limiting', '/toolhive/reference/limits'],
  ['remove everything', '/toolhive/guides-cli/manage-mcp-servers', '/toolhive/guides-cli/install'],
  ['vs docker', '/toolhive/faq'],
  ['data directory', '/toolhive/reference/storage'],
  ['localhost from container', '/toolhive/guides-cli/network-isolation'],
  ['how to update', '/toolhive/guides-cli/install', '/toolhive/guides-ui/install'],
];

/** The share of queries that must find an answering page. */
const enough = 0.92;

const index = await readFile(`${siteFolder}/${indexFile}`);
const content = JSON.parse(index.toString()) as SearchIndex;
const library = openLibrary(content);

function hitsFor(query: string, hitsPerPage = 20): Hit[] {
  return answer(library, { indexName: 'docs', query, hitsPerPage }, 'https://docs.example').hits;
}

const plain = (url: string): string => url.replace(/(.)\/$/, '$1');

test('the page that answers is among the first three for what readers type', () => {
  const misses = queries.flatMap(([query, ...pages]) => {
    const first = hitsFor(query, 3).map(({ url_without_anchor: url }) => plain(new URL(url).pathname));
    return pages.map(plain).some((page) => first.includes(page)) ? [] : [`${query}: ${first.join(' ')}`];
  });

  expect(queries.length).toBeGreaterThanOrEqual(120);
  expect(misses.slice(Math.floor(queries.length * (1 - enough)))).toStrictEqual([]);
});

/** The words of newcomers for terms of the product, and a page about each. */
test.for([...glossary])(
  'the search finds the glossary term $term and its synonyms',
  ({ term, synonyms, definition }) => {
    const [, target] = /\]\((?:\.\.|\.)\/([^)#]+?)(?:\/index)?\.mdx/.exec(definition) ?? [];
    const found = (query: string): string[] =>
      hitsFor(query).map(({ url_without_anchor: url }) => plain(new URL(url).pathname));

    expect([term, ...synonyms].filter((query) => found(query).length === 0)).toStrictEqual([]);
    const first = found(term).slice(0, 8);
    expect(first.some((path) => target === undefined || path.endsWith(`/${target}`))).toBe(true);
  },
);

test.for(queries)('the pages that answer “%s” exist', ([, ...pages]) => {
  const known = content.pages.map(({ url }) => plain(url));

  expect(known).toStrictEqual(expect.arrayContaining(pages.map(plain)));
});

test.for(commonSearches)('what is suggested when nothing is found is found: %s', (query) => {
  expect(hitsFor(query).length).toBeGreaterThan(0);
});

test('a section on many pages is found once', () => {
  const texts = content.pages.flatMap(({ sections }) =>
    sections.flatMap(({ title, text }) => (text === '' ? [] : `${title}: ${text}`)),
  );

  expect(texts.filter((text, at) => texts.indexOf(text) !== at)).toStrictEqual([]);
  expect(hitsFor('--debug').map(({ url }) => new URL(url).pathname)).toContain('/toolhive/reference/cli/thv');
});

test('the index is small enough to be fetched for one search', () => {
  expect(brotliCompressSync(index).length).toBeLessThanOrEqual(164_000);
});
