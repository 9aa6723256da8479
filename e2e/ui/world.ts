import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { AxeResults } from 'axe-core';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { chromiumOptions } from '@toolhive/testing/machine';
import { steady } from '@toolhive/testing/steady-page';
import { useRegistry } from '../testing/registry.ts';
import { makeUser, root, serve, testServer } from '../testing/thv.ts';
import type { User } from '../testing/thv.ts';

/** The server for these tests, as a local package. */
export const uiServer = `npx://${join(root, 'e2e/ui/server.js')}`;

/** A user with a daemon in the foreground, and pages of the web UI. */
export interface UiWorld extends AsyncDisposable {
  user: User;
  base: string;
  /** The typed path of the API. */
  api: (method: string, path: string, body?: object) => Promise<Response>;
  open: (path?: string, options?: BrowserContextOptions) => Promise<UiPage>;
  /** Runs the server for these tests. */
  run: (name: string, ...args: string[]) => Promise<void>;
}

export interface UiPage extends AsyncDisposable {
  page: Page;
  /** What the console was told as an error, violations of the Content-Security-Policy among them. */
  errors: string[];
  /** Addresses beyond the daemon that were asked. */
  foreign: string[];
  /** Dialogs that a script has opened. */
  dialogs: string[];
}

let browser: Browser;

/** Starts one browser for a file of tests, perhaps with further arguments. */
export function useBrowser(...args: string[]): void {
  beforeAll(async () => {
    browser = await chromium.launch({ ...chromiumOptions, args: [...chromiumOptions.args, ...args] });
  });
  afterAll(() => browser.close());
}

/** An entry like that of the built-in registry, of a server that needs no network to be installed. */
const everything = {
  description: 'Exercises every feature of the protocol.',
  image: testServer,
  args: ['echo'],
  transport: 'stdio',
  status: 'Active',
  tier: 'Community',
  tools: ['echo'],
  tags: ['test'],
  permissions: { network: { outbound: {} } },
};

export const registry = {
  version: '1.0.0',
  last_updated: '2026-01-15T10:30:00Z',
  servers: {
    everything,
    weather: {
      ...everything,
      description: 'Tells the weather.',
      env_vars: [
        { name: 'WEATHER_KEY', description: 'A key for the weather service.', required: true, secret: true },
        { name: 'UNITS', description: 'The units of measurement.', required: false, default: 'metric' },
      ],
      permissions: { network: { outbound: { allow_host: ['api.weather.example'], allow_port: [443] } } },
    },
  },
};

/** Opens a world. The daemon ends with it. */
export async function openWorld({
  entries = registry,
  env,
  prepare,
  serveWords = [],
}: {
  entries?: object | 'built-in';
  env?: NodeJS.ProcessEnv;
  /** Further arguments of `thv serve`. */
  serveWords?: readonly string[];
  prepare?: (user: User) => Promise<unknown>;
} = {}): Promise<UiWorld> {
  await using opened = new AsyncDisposableStack();
  const user = opened.use(await makeUser({ env }));
  if (entries !== 'built-in') await useRegistry(user, entries);
  await prepare?.(user);
  const { base } = opened.use(await serve(user, ...serveWords));
  const everythingElse = opened.move();
  const api: UiWorld['api'] = (method, path, body) =>
    fetch(`${base}/api/v1beta${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
  return {
    user,
    base,
    api,
    open: (path = '/ui/', options = {}) => openPage(base, path, options),
    async run(name, ...args) {
      await user.mustThv('run', '--name', name, '--permission-profile', 'none', uiServer, '--', ...args);
    },
    [Symbol.asyncDispose]: () => everythingElse.disposeAsync(),
  };
}

/** Opens a page in a browser context of its own. */
export async function openPage(
  base: string,
  path: string,
  options: BrowserContextOptions = {},
): Promise<UiPage> {
  const context = await browser.newContext({ baseURL: base, colorScheme: 'light', ...options });
  const page = steady(await context.newPage());
  page.setDefaultTimeout(30_000);
  const [errors, foreign, dialogs]: [string[], string[], string[]] = [[], [], []];
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      errors.push(message.text());
  });
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('dialog', (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  context.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(base)) foreign.push(request.url());
  });
  await page.addInitScript(await axe());
  await page.goto(path);
  return { page, errors, foreign, dialogs, [Symbol.asyncDispose]: () => context.close() };
}

let axeSource: Promise<string> | undefined;

function axe(): Promise<string> {
  return (axeSource ??= readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'));
}

/** The rules that depend on the colors of the page. */
const colorRules = ['color-contrast', 'link-in-text-block'];

/** Everything that axe finds on the page as it is, one line each, by all rules or only those about colors. */
export async function violations(page: Page, { onlyColors = false } = {}): Promise<string[]> {
  const { violations: found } = await page.evaluate(
    (rules) =>
      (globalThis as unknown as { axe: { run: (options: object) => Promise<AxeResults> } }).axe.run({
        resultTypes: ['violations'],
        ...(rules.length > 0 && { runOnly: { type: 'rule', values: rules } }),
      }),
    onlyColors ? colorRules : [],
  );
  return found.map(
    ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`,
  );
}

/** Stores workloads that are stopped, as an earlier daemon would have left them. */
export async function storeWorkloads({ home }: User, amount: number): Promise<void> {
  const runConfigs = join(home, '.local/state/toolhive/runconfigs');
  const statuses = join(home, '.local/share/toolhive/statuses');
  await Promise.all([runConfigs, statuses].map((path) => mkdir(path, { recursive: true, mode: 0o700 })));
  const stopped = {
    status: 'stopped',
    created_at: '2026-01-31T09:30:00.000Z',
    updated_at: '2026-01-31T09:30:00.000Z',
  };
  for (let index = 0; index < amount; index++) {
    const name = `server-${index}`;
    const runConfig = {
      schema_version: 'v0.1.0',
      name,
      base_name: name,
      container_name: name,
      host: '127.0.0.1',
      port: 20_000 + index,
      image: testServer,
      transport: 'stdio',
      group: 'default',
      runtime: 'process',
    };
    await writeFile(join(runConfigs, `${name}.json`), JSON.stringify(runConfig));
    await writeFile(join(statuses, `${name}.json`), JSON.stringify(stopped));
  }
}
