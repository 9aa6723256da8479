import { createRequire } from 'node:module';
import type { Options as PresetOptions, ThemeConfig } from '@docusaurus/preset-classic';
import type { Config } from '@docusaurus/types';
import { meetingPlaces, settingsFrom, site, type MeetingPlace } from './site.ts';
import { highlighting } from './src/highlighting.ts';
import { bundler } from './src/plugins/bundler/bundler.ts';
import { diagrams } from './src/plugins/diagrams/diagrams.ts';
import { headersPlugin } from './src/plugins/headers/headers.ts';
import { referencesPlugin } from './src/plugins/references/plugin.ts';
import { searchPlugin, searchTheme } from './src/plugins/search/search.ts';
import { machines } from './src/plugins/machines/machines.ts';
import { sitemapItems } from './src/plugins/machines/sitemap.ts';
import { serverMetadata } from './src/plugins/server-metadata/server-metadata.ts';

const { resolve } = createRequire(import.meta.url);
const settings = settingsFrom(process.env);

interface IconLink {
  href: string;
  className: string;
  'aria-label': string;
}

/** The icons of the places that have an address, in this order. */
const iconLinks = (...names: ('code' | MeetingPlace)[]): IconLink[] =>
  names.flatMap((name) => {
    const { href, label } =
      name === 'code'
        ? { href: site.code, label: 'Source code' }
        : { href: settings.places[name], label: meetingPlaces[name].label };
    if (href === undefined) return [];
    return [{ href, className: `icon-link icon-link--${name}`, 'aria-label': label }];
  });

function colorModeNamed(mode: string): 'light' | 'dark' {
  if (mode === 'light' || mode === 'dark') return mode;
  throw new Error(`unexpected colour mode ${JSON.stringify(mode)}: it is light or dark`);
}

const themeConfig: ThemeConfig = {
  colorMode:
    settings.colorMode === undefined
      ? { defaultMode: 'dark', respectPrefersColorScheme: true, disableSwitch: false }
      : { defaultMode: colorModeNamed(settings.colorMode), disableSwitch: true },
  docs: {
    versionPersistence: 'localStorage',
    sidebar: { hideable: false, autoCollapseCategories: false },
  },
  tableOfContents: { minHeadingLevel: 2, maxHeadingLevel: 3 },
  ...(settings.announcement === undefined ? {} : { announcementBar: settings.announcement }),
  navbar: {
    hideOnScroll: settings.hideNavbarOnScroll,
    title: 'ToolHive',
    logo: { alt: '', src: 'img/logo.svg', href: '/', width: 28, height: 28 },
    items: [
      {
        type: 'dropdown',
        label: 'Docs',
        position: 'left',
        items: [
          { label: 'Home', to: '/toolhive/' },
          { label: 'Tutorials', to: '/toolhive/tutorials' },
          { label: 'UI guides', to: '/toolhive/guides-ui/' },
          { label: 'CLI guides', to: '/toolhive/guides-cli/' },
          { label: 'Kubernetes Operator guides', to: '/toolhive/guides-k8s/' },
        ],
      },
      {
        type: 'dropdown',
        label: 'References',
        position: 'left',
        items: [
          { label: 'CLI commands', to: '/toolhive/reference/cli/thv' },
          { label: 'API reference', to: '/toolhive/reference/api' },
          { label: 'Registry schema', to: '/toolhive/reference/registry-schema' },
          { label: 'Operator CRD spec', to: '/toolhive/reference/crd-spec' },
        ],
      },
      ...iconLinks('code', 'chat', 'video').map((link) => ({ ...link, position: 'right' as const })),
    ],
  },
  footer: {
    style: 'dark',
    logo: { alt: 'ToolHive', src: 'img/logo.svg', href: '/', width: 32, height: 32 },
    links: iconLinks('code', 'chat', 'video', 'professional', 'social').map((link) => ({
      ...link,
      label: link['aria-label'],
    })),
    copyright: 'Copyright © 2025 the ToolHive authors',
  },
  prism: {
    theme: highlighting,
    // All that there are; a language stands behind those that it is made of.
    additionalLanguages: 'clike javascript css bash json yaml toml powershell docker promql diff'.split(' '),
  },
  algolia: searchTheme(settings.search),
};

const beforeDefaultRemarkPlugins = [diagrams, serverMetadata];

const preset: PresetOptions = {
  docs: {
    routeBasePath: '/',
    sidebarPath: resolve('./sidebars.ts'),
    editUrl: `${site.code}/toolhive/edit/main/apps/docs/`,
    breadcrumbs: true,
    lastVersion: 'current',
    versions: { current: { label: 'Next' } },
    beforeDefaultRemarkPlugins,
  },
  blog: false,
  sitemap: { createSitemapItems: sitemapItems, ignorePatterns: ['/search', '/theme-preview'] },
  pages: { beforeDefaultRemarkPlugins },
  theme: { customCss: ['fonts', 'code', 'site'].map((name) => resolve(`./src/css/${name}.css`)) },
  ...(settings.tagManager === undefined ? {} : { googleTagManager: { containerId: settings.tagManager } }),
};

const config: Config = {
  title: 'ToolHive',
  tagline: 'Simple and secure AI tools',
  url: site.url,
  baseUrl: '/',
  favicon: 'img/logo.svg',
  i18n: { defaultLocale: 'en', locales: ['en'] },
  future: { v4: true, experimental_faster: true },
  customFields: {
    assistants: site.assistants,
    settings: { analytics: settings.analytics, feedback: settings.feedback },
  },

  onBrokenLinks: 'throw',
  onBrokenAnchors: 'warn',
  onDuplicateRoutes: 'warn',
  markdown: { hooks: { onBrokenMarkdownLinks: 'warn', onBrokenMarkdownImages: 'throw' } },

  clientModules: [resolve('./src/analytics.ts')],
  plugins: [
    bundler,
    searchPlugin({
      hosted: settings.search,
      missingResultsUrl: `${site.code}/toolhive/issues/new?title=Nothing+found+for+`,
    }),
    referencesPlugin,
    machines,
    headersPlugin(settings),
  ],
  presets: [['@docusaurus/preset-classic', preset]],
  themeConfig,
};

// Docusaurus insists on a default export.
export default config;
