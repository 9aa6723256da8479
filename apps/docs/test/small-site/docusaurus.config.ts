import { fileURLToPath } from 'node:url';
import type { Options as PresetOptions, ThemeConfig } from '@docusaurus/preset-classic';
import type { Config } from '@docusaurus/types';
import site from '../../docusaurus.config.ts';
import { settingsFrom } from '../../site.ts';
import { headersPlugin } from '../../src/plugins/headers/headers.ts';
import type { Differences } from './small-site.ts';

const { theme, i18n } = JSON.parse(process.env['SMALL_SITE'] ?? '{}') as Differences;
const [[name, preset]] = site.presets as [[string, PresetOptions]];
const themeConfig = site.themeConfig as ThemeConfig;

/** The site as it is configured, with a few pages of its own in place of those of the product. */
const config: Config = {
  ...site,
  i18n: i18n ?? site.i18n,
  staticDirectories: [fileURLToPath(new URL('../../static', import.meta.url))],
  clientModules: [],
  plugins: [headersPlugin(settingsFrom({}))],
  // How it looks is of no account.
  presets: [[name, { ...preset, docs: { ...preset.docs, sidebarPath: './sidebars.json' }, theme: {} }]],
  themeConfig: { ...themeConfig, navbar: { items: [] }, footer: undefined, ...theme },
};

// Docusaurus insists on a default export.
export default config;
