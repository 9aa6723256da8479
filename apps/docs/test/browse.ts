import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, inject } from 'vitest';
import { steady } from '@toolhive/testing/steady-page';
import { hydrated } from '../bench/hydrated.ts';

/** An open page, which is closed after the test. */
export interface Visit extends AsyncDisposable {
  page: Page;
  /** What the console was told as an error, failures of loading and of the Content-Security-Policy among them. */
  errors: string[];
  /** Addresses beyond the site that were asked. */
  foreign: string[];
}

interface VisitOptions extends BrowserContextOptions {
  /** The site as it is by default, with everything switched on, or another at an address. */
  site?: 'site' | 'fullSite' | { address: string };
  /** Whether the page fetches other pages ahead. By default, it does if visits are not cached. */
  fetchesAhead?: boolean;
  /** Prepares the page before anything is loaded. */
  before?: (page: Page) => Promise<unknown>;
}

let browser: Browser;

/** Opens a page and waits until it can be used. */
type OpenVisit = (path: string, options?: VisitOptions) => Promise<Visit>;

/**
 * Connects this file of tests to the one browser. By default, each visit has a browser context of its own. With
 * `isCached`, visits with the same options share a context, a process, and the browser cache, but no storage. That needs
 * half of the processor time, for tests that don't depend on what a page loads. These visitors save data, because what a
 * page fetches ahead is as much work as the page.
 */
export function useBrowser({ isCached = false } = {}): OpenVisit {
  const contexts = new Map<string, Promise<BrowserContext>>();
  beforeAll(async () => {
    browser = await chromium.connect(inject('browser'));
  });
  afterAll(() => browser.close());
  return async (path, { site = 'site', before, fetchesAhead = !isCached, ...options } = {}) => {
    const base = typeof site === 'string' ? inject(site) : site.address;
    const { viewport, colorScheme = 'dark', reducedMotion, ...others } = options;
    const look = { viewport, colorScheme, reducedMotion };
    if (!isCached) {
      const context = await browser.newContext({ baseURL: base, ...others, ...look });
      return open(path, { context, base, before, isCached, fetchesAhead, look: {} });
    }
    // How a page looks is set for the page, so that pages that look differently share a process, too.
    const settings = { baseURL: base, ...others };
    const key = JSON.stringify(settings);
    const opening = contexts.get(key) ?? newSharedContext(settings);
    contexts.set(key, opening);
    return open(path, { context: await opening, base, before, isCached, fetchesAhead, look });
  };
}

/** A page that stays open keeps the process for the next page of the site, whose start is half of the work of a visit. */
async function newSharedContext(
  settings: BrowserContextOptions & { baseURL: string },
): Promise<BrowserContext> {
  const context = await browser.newContext(settings);
  const kept = await context.newPage();
  await kept.route('**/*', (route) =>
    route.fulfill({ contentType: 'text/html', body: '<title>kept</title>' }),
  );
  await kept.goto('/');
  return context;
}

interface Opening {
  context: BrowserContext;
  base: string;
  before: VisitOptions['before'];
  isCached: boolean;
  fetchesAhead: boolean;
  look: Pick<BrowserContextOptions, 'colorScheme' | 'reducedMotion' | 'viewport'>;
}

async function open(
  path: string,
  { context, base, before, isCached, fetchesAhead, look }: Opening,
): Promise<Visit> {
  const page = steady(await context.newPage());
  if (isCached) {
    const session = await context.newCDPSession(page);
    await session.send('Storage.clearDataForOrigin', { origin: base, storageTypes: 'local_storage' });
    await session.detach();
  }
  page.setDefaultTimeout(30_000);
  const { viewport, ...media } = look;
  if (viewport) await page.setViewportSize(viewport);
  await page.emulateMedia(media);
  const errors: string[] = [];
  const foreign: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(`${message.text()} ${message.location().url}`.trim());
  });
  page.on('pageerror', (error) => errors.push(error.message));
  const watch = (request: Request): void => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(base)) foreign.push(request.url());
  };
  context.on('request', watch);
  if (!fetchesAhead) await saveData(page);
  await before?.(page);
  await page.goto(path);
  await hydrated(page);
  return {
    page,
    errors,
    foreign,
    async [Symbol.asyncDispose]() {
      context.off('request', watch);
      await (isCached ? page.close() : context.close());
    },
  };
}

/** Makes the page one of a reader who saves data, for whom nothing is fetched ahead. */
export async function saveData(page: Page): Promise<void> {
  await page.addInitScript(() => {
    Object.defineProperty(navigator, 'connection', { value: { effectiveType: '4g', saveData: true } });
  });
}
