import { glob, readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = new URL('../../../', import.meta.url).pathname;
const folder = `${root}apps/docs/docs/`;

const paths = (await Array.fromAsync(glob(`${folder}**/*.mdx`))).toSorted();
const pages = await Promise.all(
  paths.map(async (path) => ({ path: relative(folder, path), text: await readFile(path, 'utf8') })),
);
const pathsWhere = (isWrong: (text: string) => boolean): string[] =>
  pages.filter(({ text }) => isWrong(text)).map(({ path }) => path);

test('every page ends with two to four next steps', () => {
  const wrong = pathsWhere((text) => {
    const [, steps = ''] = /^## Next steps\n([^]*)/m.exec(text) ?? [];
    const links = steps.match(/^- .*\]\(/gm) ?? [];
    return links.length < 2 || links.length > 4 || /^#/m.test(steps);
  });

  expect(pages.length).toBeGreaterThan(50);
  expect(wrong).toEqual([]);
});

describe('missing features', () => {
  const notice = /:::note\[Not available yet\]\n([^]*?)\n:::/g;

  test('have at most one notice on a page, which quotes the error', () => {
    const wrong = pathsWhere((text) => {
      const notices = Array.from(text.matchAll(notice), ([, content = '']) => content);
      return notices.length > 1 || notices.some((content) => !/"[^"]+"|fails? with `/.test(content));
    });

    expect(pages.filter(({ text }) => text.search(notice) !== -1).length).toBeGreaterThan(3);
    expect(wrong).toEqual([]);
  });

  test('are not mentioned anywhere else', async () => {
    const home = {
      path: 'pages/index.tsx',
      text: await readFile(`${root}apps/docs/src/pages/index.tsx`, 'utf8'),
    };
    const promises =
      /\b(?:available yet|supported yet|not yet\.|coming soon|planned|roadmap|upcoming|in the future|(?:later|next|future) (?:version|release)|will be (?:added|available|supported))/i;

    const found = [...pages, home].flatMap(({ path, text }) => {
      const [promise] = promises.exec(text.replaceAll(notice, '')) ?? [];
      return promise === undefined ? [] : [`${path}: ${promise}`];
    });

    expect(found).toEqual([]);
  });
});

test('every diagram has an alternative text', () => {
  const diagrams = pages.flatMap(({ text }) => text.match(/^ *```mermaid.*$/gm) ?? []);

  expect(diagrams.length).toBeGreaterThanOrEqual(6);
  expect(diagrams.filter((opening) => !/ alt="[^"]{20,}"/.test(opening))).toEqual([]);
});

test('requirements names the versions that the tests pin', async () => {
  const { text } = pages.find(({ path }) => path.endsWith('toolhive/requirements.mdx')) ?? { text: '' };
  const testedVersion = (program: string): string | undefined =>
    text
      .split('\n')
      .find((line) => line.startsWith(`| ${program} `))
      ?.split('|')[3]
      ?.trim();
  const { devDependencies } = JSON.parse(await readFile(`${root}package.json`, 'utf8')) as {
    devDependencies: Record<string, string>;
  };
  const moduleVersion = async (file: string, module: string): Promise<string | undefined> =>
    new RegExp(`^\\s*(?:require )?${RegExp.escape(module)} v(\\S+)`, 'm').exec(
      await readFile(`${root}packages/operator/control-plane/${file}`, 'utf8'),
    )?.[1];

  expect(testedVersion('Node.js')).toBe(devDependencies['node']);
  expect(testedVersion('Kubernetes')).toBe(await moduleVersion('go.mod', 'k8s.io/kubernetes'));
  expect(testedVersion('Helm')).toBe(await moduleVersion('chart-tools/go.mod', 'helm.sh/helm/v4'));
});

test('manifests in the server guides use the images of the built-in registry', async () => {
  const registry = await readFile(`${root}packages/registry/src/default-registry.json`, 'utf8');
  const images = pages
    .filter(({ path }) => path.includes('guides-mcp/') && !path.endsWith('meta-mcp.mdx'))
    .flatMap(({ text }) => Array.from(text.matchAll(/^ *image: (\S+)$/gm), ([, image = '']) => image));

  expect(images.length).toBeGreaterThanOrEqual(4);
  expect(images.filter((image) => !registry.includes(`"${image}"`))).toEqual([]);
});

test('every attack in a table names a test that exists', async () => {
  const files = (await Array.fromAsync(glob(`${root}{packages,e2e}/**/*.ts`))).filter(
    (path) => !path.includes('node_modules'),
  );
  const rows = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/^\| Attack .*\| Test(?: in `(.+)`)? +\|\n\|[-| ]+\n((?:\|.*\n)+)/gm)].flatMap(
      ([, commonFile, body = '']) =>
        body
          .trim()
          .split('\n')
          .map((row) => {
            const cell = row.split('|').at(-2)?.trim() ?? '';
            const [, file = commonFile, title] = /^(?:`([^`]+)`: )?(.+)$/.exec(cell) ?? [];
            return { path, file: file ?? '', title: title?.replace(/ \(and others\)$/, '') ?? '' };
          }),
    ),
  );
  const missing: string[] = [];
  for (const { path, file, title } of rows) {
    const [found, ...others] = files.filter((one) => one.endsWith(`/${file}`));
    const text = found === undefined ? '' : await readFile(found, 'utf8');
    const pattern = new RegExp(
      title
        .split('…')
        .map((part) => RegExp.escape(part))
        .join('.*'),
    );
    if (others.length > 0 || !pattern.test(text)) missing.push(`${path}: ${file}: ${title}`);
  }

  expect(rows.length).toBeGreaterThan(40);
  expect(missing).toEqual([]);
});

test('the home page shows a refused connection as the guide does, where it was run', async () => {
  const drawing = await readFile(`${root}apps/docs/src/components/Refusal.tsx`, 'utf8');
  const { text = '' } = pages.find(({ path }) => path.endsWith('guides-cli/network-isolation.mdx')) ?? {};
  const [, shown = ''] = /^const denied = `([^`]+)`;$/m.exec(drawing) ?? [];
  const [, command = ''] = /<Command output=\{denied\}>(.+)<\/Command>/.exec(drawing) ?? [];

  expect(shown).not.toBe('');
  expect(text).toContain(
    `\`\`\`bash run\n${command}\n\`\`\`\n\n\`\`\`text title="Output"\n${shown}\n\`\`\`\n`,
  );
});

test('columns in outputs are aligned with their heads', () => {
  const tables = pages.flatMap(({ path, text }) =>
    Array.from(text.matchAll(/^[A-Z][A-Z ]*(?: {3,}(?:…|[A-Z][A-Z ]*)){2,}\n(?:\S.*\n)+/gm), ([table]) => ({
      path,
      lines: table.trimEnd().split('\n'),
    })),
  );
  const placesOf = (line: string): number[] =>
    Array.from(line.matchAll(/(?<=^| {2})\S/g), ({ index }) => index);
  const crooked = tables.flatMap(({ path, lines: [head = '', ...rows] }) => {
    const places = placesOf(head);
    return rows
      .filter((row) => placesOf(row).length === places.length)
      .filter((row) => placesOf(row).join() !== places.join())
      .map((row) => `${path}: ${row}`);
  });

  expect(tables.length).toBeGreaterThan(10);
  expect(crooked).toEqual([]);
});
