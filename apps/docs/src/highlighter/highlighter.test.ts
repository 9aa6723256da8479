import { createRequire } from 'node:module';
import { glob, readFile } from 'node:fs/promises';
import { createElement, type ReactNode } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { Highlight as Original, type HighlightProps } from 'prism-react-renderer';
import { expect, test } from 'vitest';
import type { ThemeConfig } from '@docusaurus/preset-classic';
import config from '../../docusaurus.config.ts';
import { highlighting } from '../highlighting.ts';
import { Highlight, Prism } from './highlighter.ts';

const languages = (config.themeConfig as ThemeConfig).prism?.additionalLanguages as string[];
const require = createRequire(import.meta.url);
Object.assign(globalThis, { Prism }); // as the theme does it
for (const name of languages) require(`prismjs/components/prism-${name}`);

test.for([
  ['json', '{\n\n  "key": [1, true, null], // why\r\n  "other": "text"\n}\n'],
  ['yaml', '# why\nkey: value\nlist:\n  - "one"\n\n  - 2\n'],
  ['javascript', 'const f = async (a) => `x ${a + 1}\n${a}`; // why\n\n'],
  ['CSS', '.a:hover > b { color: var(--x); }\n/* two\nlines */'],
  ['text', 'plain\n\n  text'],
  ['nothing-known', 'plain'],
  ['json', ''],
] as const)('shows %s like the component that it replaces', ([language, code]) => {
  const props = { code, language, theme: highlighting, children: draw };

  const ours = renderToStaticMarkup(createElement(Highlight, props));

  const theirs = renderToStaticMarkup(createElement(Original, { ...props, prism: Prism }));
  expect(ours).toBe(theirs.replaceAll(/<span class="token[^>]*><\/span>/g, '')); // shows nothing
});

test('knows every language that a page shows code in', async () => {
  const used = new Set<string>();
  for await (const file of glob('{docs,src}/**/*.{md,mdx}', {
    cwd: new URL('../..', import.meta.url).pathname,
  })) {
    const text = await readFile(new URL(`../../${file}`, import.meta.url), 'utf8');
    for (const [, language = ''] of text.matchAll(/^ *```([\w-]+)/gm)) used.add(language);
  }

  const unknown = [...used].filter(
    (name) => !(name in Prism.languages) && !['text', 'mermaid'].includes(name),
  );

  expect(used.size).toBeGreaterThan(3);
  expect(unknown).toStrictEqual([]);
});

const draw: HighlightProps['children'] = ({
  className,
  style,
  tokens,
  getLineProps,
  getTokenProps,
}): ReactNode =>
  createElement(
    'pre',
    { className, style },
    tokens.map((line, index) =>
      createElement(
        'div',
        { ...getLineProps({ line, className: 'line' }), key: index },
        line.map((token, at) => createElement('span', { ...getTokenProps({ token }), key: at })),
      ),
    ),
  );
