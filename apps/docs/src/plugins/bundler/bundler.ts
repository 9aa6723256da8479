import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from '@docusaurus/types';

/** The inputs of the compilation that the bundler does not read itself. */
const inputs = [
  'package.json',
  '../../package.json',
  'site.ts',
  'src/plugins/**/*.ts',
  'static/diagrams/*',
  '../../packages/registry/src/*.json',
];

const replacements = 'src/{theme,search/theme}/**/*.{ts,tsx}';

const docs = new URL('../../..', import.meta.url).pathname;

/** A highlighter without unused languages, which would be a sixth of the script of every page. */
const alias = { 'prism-react-renderer$': join(docs, 'src/highlighter/highlighter.ts') };

/** Fonts contain only the characters that pages need. */
const fontRule = {
  test: /\.woff2$/,
  resourceQuery: /^\?(common|latin)$/,
  enforce: 'pre' as const,
  use: [join(docs, 'src/plugins/bundler/subset.ts')],
};

/** The first script in a browser, instead of the start script of the framework. */
const entry = { entry: join(docs, 'src/entry.ts'), mergeStrategy: { entry: 'replace' } } as const;

const orderRule = {
  test: /theme-common[\\/]lib[\\/]utils[\\/]reactUtils\.js$/,
  enforce: 'pre' as const,
  use: [join(docs, 'src/plugins/bundler/plain-order.ts')],
};

/** Reduces the size of pages, and invalidates the bundler cache when its inputs change. */
export function bundler(): Plugin {
  const hash = createHash('sha256');
  const settings = Object.entries(process.env).filter(([name]) => /^(DOCS|DOCUSAURUS)_/.test(name));
  hash.update(JSON.stringify(Object.fromEntries(settings)));
  // The replaced files of the framework. The bundler notices changes of their content, but not of this list.
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
