import { ThemeConfigSchema } from '@docusaurus/theme-classic/lib/options.js';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import config from '../docusaurus.config.ts';
import { buildSmallSite } from './small-site/small-site.ts';
import type { SmallSite } from './small-site/small-site.ts';

describe('before anything is built', () => {
  /** What is wrong with the settings of the theme when something in them is another. */
  const faultOf = (difference: object): string | undefined =>
    // Unknown ones are those of other themes.
    ThemeConfigSchema.unknown().validate({ ...config.themeConfig, ...difference }, { convert: false }).error
      ?.message;

  test('a colour mode that does not exist is an error', async () => {
    proves('site.config.colour-mode');
    vi.stubEnv('DOCS_COLOR_MODE', 'purple');
    vi.resetModules();

    const configuring = import('../docusaurus.config.ts');

    await expect(configuring).rejects.toThrow('unexpected colour mode "purple": it is light or dark');
    vi.unstubAllEnvs();
  });

  test.for<[string, object, string]>([
    ['of an unknown type', { type: 'dream' }, 'Bad navbar item type dream'],
    ['that leads nowhere', { label: 'Nowhere' }, 'must contain at least one of [href, to]'],
    ['for a sidebar without its name', { type: 'docSidebar' }, 'sidebarId" is required'],
  ])('an item of the navbar %s is an error', ([, item, message]) => {
    proves('site.config.item');
    const fault = faultOf({ navbar: { items: [item] } });

    expect(fault).toContain(message);
  });

  test('the configuration as it is has no error', () => {
    expect(faultOf({})).toBeUndefined();
  });
});

describe('what only shows when pages are drawn', () => {
  /** A page in a site whose navbar has this item in place of all others. */
  const pageUnder = (item: object): string => `
    import { Context } from '@docusaurus/core/lib/client/docusaurusContext';
    import useDocusaurusContext from '@docusaurus/useDocusaurusContext';
    import Layout from '@theme/Layout';
    import React from 'react';

    export default function Page() {
      const context = useDocusaurusContext();
      const { siteConfig } = context;
      const themeConfig = { ...siteConfig.themeConfig, navbar: { items: [${JSON.stringify(item)}] } };
      return (
        <Context.Provider value={{ ...context, siteConfig: { ...siteConfig, themeConfig } }}>
          <Layout>A page</Layout>
        </Context.Provider>
      );
    }`;

  const pageWithToggle = (mode: string): string => `
    import ColorModeToggle from '@theme/ColorModeToggle';
    import React from 'react';

    export default () => <ColorModeToggle value=${JSON.stringify(mode)} onChange={() => {}} respectPrefersColorScheme />;`;

  /** A hook for each provider that it needs. */
  const hooks = {
    AnnouncementBarProvider: 'useAnnouncementBar',
    CodeBlockContextProvider: 'useCodeBlockContext',
    ColorModeProvider: 'useColorMode',
    DocProvider: 'useDoc',
    DocSidebarItemsExpandedStateProvider: 'useDocSidebarItemsExpandedState',
    DocsPreferredVersionContextProvider: 'useDocsPreferredVersion',
    DocsSidebarProvider: 'useDocsSidebar',
    DocsVersionProvider: 'useDocsVersion',
    NavbarMobileSidebarProvider: 'useNavbarMobileSidebar',
    NavbarSecondaryMenuDisplayProvider: 'useNavbarSecondaryMenu',
    ScrollControllerProvider: 'useScrollController',
  };

  const pageOutside = (hook: string): string => `
    import * as docs from '@docusaurus/plugin-content-docs/client';
    import * as internal from '@docusaurus/theme-common/internal';
    import * as theme from '@docusaurus/theme-common';
    import React from 'react';
    import { renderToStaticMarkup } from 'react-dom/server';

    const hooks = { ...docs, ...internal, ...theme };

    function Asking() {
      hooks[${JSON.stringify(hook)}]();
      return null;
    }

    // A tree of its own has no provider around it.
    export default () => renderToStaticMarkup(<Asking />);`;

  const pages = {
    '/mode': pageWithToggle('purple'),
    '/sidebar': pageUnder({ type: 'docSidebar', sidebarId: 'empty' }),
    '/type': pageUnder({ type: 'custom-dream' }),
    '/version': pageUnder({ type: 'docsVersionDropdown', versions: ['0.9'] }),
    ...Object.fromEntries(
      Object.entries(hooks).map(([provider, hook]) => [`/outside/${provider}`, pageOutside(hook)]),
    ),
  };

  /** What the build says is wrong with each page. */
  let faults: Record<string, string>;
  let site: SmallSite;
  beforeAll(async () => {
    site = await buildSmallSite({
      'sidebars.json': JSON.stringify({ pages: ['index'], empty: [{ type: 'html', value: 'Words only' }] }),
      ...Object.fromEntries(Object.entries(pages).map(([path, code]) => [`src/pages${path}.jsx`, code])),
    });
    const said = site.output.split(`Can't render static file for pathname "`).slice(1);
    faults = Object.fromEntries(said.map((text) => [text.slice(0, text.indexOf('"')), text]));
  });
  afterAll(() => site[Symbol.asyncDispose]());

  test('is told of each page that has a fault, and of no other', () => {
    expect(site.isBuilt).toBe(false);
    expect(Object.keys(faults).toSorted()).toEqual(Object.keys(pages).toSorted());
  });

  test.for([
    [
      'a version that the dropdown of versions names and that does not exist',
      '/version',
      "No docs version exist for name '0.9'",
    ],
    [
      'an item for a sidebar that has nothing to lead to',
      '/sidebar',
      `Sidebar with ID "empty" doesn't have anything to be linked to.`,
    ],
    [
      'an item of a type that nothing draws',
      '/type',
      'No NavbarItem component found for type "custom-dream".',
    ],
    ['a colour mode that does not exist', '/mode', 'unexpected color mode purple'],
  ] as const)('%s is an error', ([, path, message]) => {
    proves('site.config.version', 'site.config.sidebar', 'site.config.item', 'site.config.colour-mode');
    expect(faults[path]).toContain(message);
  });

  test.for(Object.entries(hooks))('to do without %s, which a hook needs, is an error', ([provider, hook]) => {
    proves('site.message.providers');
    expect(faults[`/outside/${provider}`]).toMatch(
      new RegExp(`Hook ${hook}\\w* is called outside the <${provider}>`),
    );
  });
});
