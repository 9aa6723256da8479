import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import type { TestProject } from 'vitest/node';
import { buildDocs, siteFolder } from '../../../scripts/build-docs.ts';
import type { SiteOptions } from '../../../scripts/build-docs.ts';
import { chromiumOptions } from '@toolhive/testing/machine';
import { serve } from './serve.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The site as it is built by default. */
    site: string;
    /** A few pages of it with everything switched on that is off by default. */
    fullSite: string;
    browser: string;
  }
}

const fullConfig = fileURLToPath(new URL('full-site/docusaurus.config.ts', import.meta.url));

/** What can be switched on, switched on. */
const everything = {
  DOCS_ANNOUNCEMENT: JSON.stringify({
    id: 'second',
    content: 'Something <b>new</b>',
    backgroundColor: '#14161d',
    textColor: '#ffffff',
    isCloseable: true,
  }),
  DOCS_HIDE_NAVBAR: '1',
  DOCS_COLOR_MODE: 'light',
  DOCS_ANALYTICS: '1',
  DOCS_TAG_MANAGER: 'GTM-TEST',
  DOCS_CHAT: 'https://chat.example/toolhive',
  DOCS_VIDEO: 'https://video.example/toolhive',
  DOCS_PROFESSIONAL: 'https://network.example/toolhive',
  DOCS_SOCIAL: 'https://social.example/toolhive',
  DOCS_FEEDBACK: 'https://feedback.example/messages',
  DOCS_SEARCH_APP: 'TESTAPP',
  DOCS_SEARCH_KEY: 'for searching only',
  DOCS_SEARCH_INDEX: 'docs',
  DOCS_SEARCH_ASSISTANT: 'assistant',
};

/** For all tests of the site one build with its server, another with everything switched on, and one browser. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  await using opened = new AsyncDisposableStack();
  const fullFolder = `${siteFolder}-full`;
  await build({ folder: siteFolder });
  await build({ folder: fullFolder, env: { ...process.env, ...everything }, config: fullConfig });
  project.provide('site', opened.use(await serve(siteFolder)).address);
  project.provide('fullSite', opened.use(await serve(fullFolder)).address);
  const browser = await chromium.launchServer({
    ...chromiumOptions,
    args: [
      ...chromiumOptions.args,
      // Nothing leaves this machine; a test that wants an answer of others gives it itself.
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
      // Pages of one context share a process, which has the scripts of the site already.
      '--process-per-site',
    ],
  });
  opened.defer(() => browser.close());
  project.provide('browser', browser.wsEndpoint());
  const everythingOpened = opened.move();
  return () => everythingOpened[Symbol.asyncDispose]();
}

async function build(options: SiteOptions): Promise<void> {
  if (!(await buildDocs({ ...options, effort: 'quick' }))) throw new Error('the site cannot be built');
}
