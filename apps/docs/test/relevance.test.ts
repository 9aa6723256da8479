import { readFile } from 'node:fs/promises';
import { brotliCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { siteFolder } from '../../../scripts/build-docs.ts';
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
    '/toolhive/guides-cli/run-mcp-servers',
    '/toolhive/guides-ui/run-mcp-servers',
    '/toolhive/guides-mcp/notion-remote',
  ],
  ['filter tools', '/toolhive/guides-cli/run-mcp-servers', '/toolhive/guides-k8s/customize-tools'],
  ['ci', '/toolhive/guides-cli/advanced-cicd'],
  [
    'read only folder',
    '/toolhive/guides-cli/filesystem-access',
    '/toolhive/guides-cli/custom-permissions',
    '/toolhive/guides-mcp/filesystem',
  ],
  ['uninstall', '/toolhive/guides-cli/install', '/toolhive/guides-ui/install'],
  ['proxy port', '/toolhive/guides-cli/run-mcp-servers', '/toolhive/reference/cli/thv_run'],
  ['list running servers', '/toolhive/guides-cli/manage-mcp-servers', '/toolhive/reference/cli/thv_list'],
  ['inspector', '/toolhive/guides-cli/test-mcp-servers', '/toolhive/reference/cli/thv_inspector'],
  ['shell completion', '/toolhive/reference/cli/thv_completion', '/toolhive/guides-cli/install'],
  ['export a workload', '/toolhive/reference/cli/thv_export', '/toolhive/guides-cli/run-mcp-servers'],
];

/** As in a set of 40, of which 37 have to be found. */
const enough = 37 / 40;

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

  expect(queries.length).toBeGreaterThanOrEqual(40);
  expect(misses.slice(Math.floor(queries.length * (1 - enough)))).toStrictEqual([]);
});

test.for(queries)('the pages that answer “%s” exist', ([, ...pages]) => {
  const known = content.pages.map(({ url }) => plain(url));

  expect(known).toStrictEqual(expect.arrayContaining(pages.map(plain)));
});

test.for(commonSearches)('what is suggested when nothing is found is found: %s', (query) => {
  expect(hitsFor(query).length).toBeGreaterThan(0);
});

test('a section that stands on many pages is found once', () => {
  const texts = content.pages.flatMap(({ sections }) =>
    sections.flatMap(({ title, text }) => (text === '' ? [] : `${title}: ${text}`)),
  );

  expect(texts.filter((text, at) => texts.indexOf(text) !== at)).toStrictEqual([]);
  expect(hitsFor('--debug').map(({ url }) => new URL(url).pathname)).toContain('/toolhive/reference/cli/thv');
});

test('the index is small enough to be fetched for one search', () => {
  expect(brotliCompressSync(index).length).toBeLessThanOrEqual(150_000);
});
