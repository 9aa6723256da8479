import { chromium } from 'playwright-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, inject } from 'vitest';
import { hydrated } from '../bench/hydrated.ts';

/** A page of a browser context of its own, which ends with the test. */
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
  /** Prepares the page before anything is loaded. */
  before?: (page: Page) => Promise<unknown>;
}

let browser: Browser;

/** Connects this file of tests to the one browser. */
export function useBrowser(): (path: string, options?: VisitOptions) => Promise<Visit> {
  beforeAll(async () => {
    browser = await chromium.connect(inject('browser'));
  });
  afterAll(() => browser.close());
  return visit;
}

/** Opens a page and waits until it can be used. */
async function visit(path: string, { site = 'site', before, ...options }: VisitOptions = {}): Promise<Visit> {
  const base = typeof site === 'string' ? inject(site) : site.address;
  const context = await browser.newContext({ baseURL: base, colorScheme: 'dark', ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const errors: string[] = [];
  const foreign: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(`${message.text()} ${message.location().url}`.trim());
  });
  page.on('pageerror', (error) => errors.push(error.message));
  context.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(base)) foreign.push(request.url());
  });
  await before?.(page);
  await page.goto(path);
  await hydrated(page);
  return { page, errors, foreign, [Symbol.asyncDispose]: () => context.close() };
}

/** Makes the page one of a reader who saves data, for whom nothing is fetched ahead. */
export async function saveData(page: Page): Promise<void> {
  await page.addInitScript(() => {
    Object.defineProperty(navigator, 'connection', { value: { effectiveType: '4g', saveData: true } });
  });
}
