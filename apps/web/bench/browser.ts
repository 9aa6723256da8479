import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { chromiumOptions } from '@toolhive/testing/machine';

/** A browser that Playwright and Lighthouse can control. */
export interface SharedBrowser extends AsyncDisposable {
  browser: Browser;
  debuggingPort: number;
}

export async function launchBrowser(): Promise<SharedBrowser> {
  const debuggingPort = await freePort();
  const browser = await chromium.launch({
    ...chromiumOptions,
    args: [
      ...chromiumOptions.args,
      `--remote-debugging-port=${debuggingPort}`,
      // MCP Inspector loads fonts from other hosts. A slow network must not change its figures.
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
    ],
  });
  return { browser, debuggingPort, [Symbol.asyncDispose]: () => browser.close() };
}

/** A port that no program listens on now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  await new Promise((resolve) => server.close(resolve));
  return port;
}
