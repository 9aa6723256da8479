import { listenOnTcp } from '@toolhive/api/listen';
import { Hono } from 'hono';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext } from 'playwright-core';
import { chromiumOptions } from '@toolhive/testing/machine';
import { serve } from '../test/serve.ts';

/** The built site as the daemon serves it, and a browser to look at it. */
export interface ServedSite extends AsyncDisposable {
  address: string;
  browser: Browser;
  /** Where programs can steer the browser. */
  debuggingPort: number;
  /** A browser that has been nowhere yet. */
  newReader(): Promise<BrowserContext & AsyncDisposable>;
}

export async function serveSite(folder: string): Promise<ServedSite> {
  await using opened = new AsyncDisposableStack();
  const { address } = opened.use(await serve(folder));
  const debuggingPort = await freePort();
  const browser = opened.adopt(
    await chromium.launch({
      ...chromiumOptions,
      args: [...chromiumOptions.args, `--remote-debugging-port=${debuggingPort}`],
    }),
    (one) => one.close(),
  );
  const everything = opened.move();
  return {
    address,
    browser,
    debuggingPort,
    newReader: () => browser.newContext({ baseURL: address, colorScheme: 'dark' }),
    [Symbol.asyncDispose]: () => everything[Symbol.asyncDispose](),
  };
}

/** A port without a listener. */
async function freePort(): Promise<number> {
  await using listener = await listenOnTcp(new Hono(), { host: '127.0.0.1', port: 0 });
  return listener.port;
}
