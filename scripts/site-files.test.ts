import { expect, test } from 'vitest';
import { brokenIn, findBrokenReferences } from './site-files.ts';

const page = 'apps/docs/docs/toolhive/faq.mdx';
const known = new Set([
  'apps/docs/docs/toolhive/reference/cli/thv_run.md',
  'apps/docs/static/api-specs/api.yaml',
]);

test('every link and import of a page leads to a page, a part, or a file', async () => {
  expect(await findBrokenReferences()).toEqual([]);
});

test.each([
  ['a link to a command', 'See [it](./reference/cli/thv_old.md#flags).', 'toolhive/reference/cli/thv_old.md'],
  ['an imported part', "import Old from './reference/_old.md';", 'toolhive/reference/_old.md'],
  ['a link to a file', 'Get [it](pathname:///api-specs/old.yaml).', 'static/api-specs/old.yaml'],
])('%s that does not exist is reported with its line', (_what, line, target) => {
  const [broken] = brokenIn(page, `First line.\n${line}\n`, known);

  expect(broken).toMatch(/^apps\/docs\/docs\/toolhive\/faq\.mdx:2: /);
  expect(broken).toContain(target);
});

test('existing targets, code, and other sites are not reported', () => {
  const text = [
    'See [it](./reference/cli/thv_run.md#flags) or [it](pathname:///api-specs/api.yaml).',
    '[Elsewhere](https://mcp.example.com/x)',
    '```md',
    '[x](./missing.md)',
    '```',
  ].join('\n');

  expect(brokenIn(page, text, known)).toEqual([]);
});
