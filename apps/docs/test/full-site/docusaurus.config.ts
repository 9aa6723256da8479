import { fileURLToPath } from 'node:url';
import type { Options as PresetOptions } from '@docusaurus/preset-classic';
import type { Config } from '@docusaurus/types';
import site from '../../docusaurus.config.ts';
import { fullSitePages } from './pages.ts';

const [[name, preset]] = site.presets as [[string, PresetOptions]];

/** The site as it is configured, with the pages only that its tests visit: each other page takes the build longer. */
const config: Config = {
  ...site,
  onBrokenLinks: 'ignore',
  onBrokenAnchors: 'ignore',
  markdown: { ...site.markdown, hooks: { ...site.markdown?.hooks, onBrokenMarkdownLinks: 'ignore' } },
  presets: [
    [
      name,
      {
        ...preset,
        docs: {
          ...preset.docs,
          include: fullSitePages.map((page) => `${page}.mdx`),
          sidebarPath: fileURLToPath(new URL('sidebars.ts', import.meta.url)),
        },
      },
    ],
  ],
};

// Docusaurus insists on a default export.
export default config;
