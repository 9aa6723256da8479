import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from '@docusaurus/types';

/** What decides how pages are compiled and is not among the files that the bundler reads itself. */
const inputs = [
  'package.json',
  '../../package.json',
  'site.ts',
  'src/plugins/**/*.ts',
  'static/diagrams/*',
  '../../packages/core/src/registry/*.json',
];

const replacements = 'src/{theme,search/theme}/**/*.{ts,tsx}';

const docs = new URL('../../..', import.meta.url).pathname;

/** A highlighter without the languages that nobody asked for, which are a sixth of the script of every page. */
const alias = { 'prism-react-renderer$': join(docs, 'src/highlighter/highlighter.ts') };

/** Fonts are cut down to what pages need of them. */
const fontRule = {
  test: /\.woff2$/,
  resourceQuery: /^\?(common|latin)$/,
  enforce: 'pre' as const,
  use: [join(docs, 'src/plugins/bundler/subset.ts')],
};

/** What runs first in a browser, instead of the framework as it comes. */
const entry = { entry: join(docs, 'src/entry.ts'), mergeStrategy: { entry: 'replace' } } as const;

const orderRule = {
  test: /theme-common[\\/]lib[\\/]utils[\\/]reactUtils\.js$/,
  enforce: 'pre' as const,
  use: [join(docs, 'src/plugins/bundler/plain-order.ts')],
};

/**
 * Makes the pages lighter than they come, and keeps what the bundler remembers of earlier builds from outliving what it
 * was made with.
 */
export function bundler(): Plugin {
  const hash = createHash('sha256');
  const settings = Object.entries(process.env).filter(([name]) => /^(DOCS|DOCUSAURUS)_/.test(name));
  hash.update(JSON.stringify(Object.fromEntries(settings)));
  // Which file takes the place of which of the framework's: the bundler takes up what they say, but not that they came.
  hash.update(JSON.stringify(globSync(replacements, { cwd: docs }).toSorted()));
  for (const path of globSync(inputs, { cwd: docs }).toSorted()) hash.update(readFileSync(join(docs, path)));
  const version = hash.digest('hex');
  return {
    name: 'bundler',
    configureWebpack: (config, isServer) => {
      const lighter = {
        resolve: { alias },
        module: { rules: [fontRule, orderRule] },
        ...(isServer ? {} : entry),
      };
      const { cache } = (config as { experiments?: { cache?: object } }).experiments ?? {};
      if (cache === undefined) return lighter;
      const remembered = { ...cache, version: `${isServer ? 'server' : 'client'}-${version}` };
      return { ...lighter, experiments: { cache: remembered } };
    },
  };
}
