import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PluginConfig } from '@docusaurus/types';
import { parse } from 'yaml';

/**
 * Provides the specification to the page of the API. The build renders the page. A browser loads the rendering code
 * only when the reader comes from another page.
 */
export const referencesPlugin: PluginConfig = function references({ siteDir }) {
  const specification = join(siteDir, 'static/api-specs/toolhive-api.yaml');
  const components = join(siteDir, 'src/references');
  return {
    name: 'references',
    async contentLoaded({ actions }) {
      const document = parse(await readFile(specification, 'utf8')) as object;
      await actions.createData('api.json', JSON.stringify(document));
    },
    configureWebpack: (_config, isServer) => ({
      resolve: {
        alias: { '@references/whole': join(components, isServer ? 'WholeApi.tsx' : 'KeptApi.tsx') },
      },
    }),
    getClientModules: () => [join(components, 'references.css')],
    getPathsToWatch: () => [specification],
  };
};
