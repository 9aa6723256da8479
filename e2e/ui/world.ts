import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { AxeResults } from 'axe-core';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, inject } from 'vitest';
import { builtInProfiles } from '@toolhive/contract/permission-profile';
import { chromiumOptions } from '@toolhive/testing/machine';
import { steady } from '@toolhive/testing/steady-page';
import { useRegistry } from '../testing/registry.ts';
import { makeUser, root, serve, testServer, until } from '../testing/thv.ts';
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
  /** Creates a workload, in place of one that an earlier attempt has left, and waits until it runs. Returns its URL. */
  create: (request: Record<string, unknown> & { name: string }) => Promise<string>;
  /** Removes what an earlier attempt of a test may have left. */
  remove: (name: string) => Promise<void>;
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
/** The contexts that pages share, by their options, each with a page that stays open. */
let contexts: Map<string, Promise<SharedContext>> | undefined;

interface SharedContext {
  context: BrowserContext;
  kept: Page;
}

interface BrowserOptions {
  /** Further arguments. */
  args?: readonly string[];
  /**
   * Whether the pages of a file share contexts and a process, but no storage of scripts. That needs half of the processor
   * time. Tests of what a browser keeps apart don't share.
   */
  isShared?: boolean;
}

/**
 * Connects a file of tests to the browser of its suite, or starts another one with further arguments or for pages that don't
 * share a process. The contexts of a file end with it.
 */
export function useBrowser({ args = [], isShared = args.length === 0 }: BrowserOptions = {}): void {
  beforeAll(async () => {
    browser = isShared
      ? await chromium.connect(inject('uiBrowser'))
      : await chromium.launch({ ...chromiumOptions, args: [...chromiumOptions.args, ...args] });
    contexts = isShared ? new Map() : undefined;
  });
  afterAll(() => browser.close());
}

/** Opens one world for all tests of a file, which use different servers. Returns how they get at it. */
export function useWorld(
  options: WorldOptions = {},
  fill?: (world: UiWorld) => Promise<unknown>,
): () => UiWorld {
  let world: UiWorld | undefined;
  beforeAll(async () => {
    world = await openWorld(options);
    await fill?.(world);
  });
  afterAll(() => world?.[Symbol.asyncDispose]());
  return () => {
    if (world === undefined) throw new Error('the world is opened before the first test');
    return world;
  };
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

interface WorldOptions {
  entries?: object | 'built-in';
  env?: NodeJS.ProcessEnv;
  /** Further arguments of `thv serve`. */
  serveWords?: readonly string[];
  prepare?: (user: User) => Promise<unknown>;
}

/** Opens a world. The daemon ends with it. */
export async function openWorld({
  entries = registry,
  env,
  prepare,
  serveWords = [],
}: WorldOptions = {}): Promise<UiWorld> {
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
  const remove = async (name: string): Promise<void> => {
    await api('DELETE', `/workloads/${name}`);
    await until(async () => (await api('GET', `/workloads/${name}`)).status === 404);
  };
  const create: UiWorld['create'] = async (request) => {
    await remove(request.name);
    const created = await api('POST', '/workloads', request);
    if (created.status !== 201) throw new Error(await created.text());
    return until(async () => {
      const { status, proxy_url: url } = (await (await api('GET', `/workloads/${request.name}`)).json()) as {
        status: string;
        proxy_url: string;
      };
      if (status === 'error') throw new Error(`${request.name} does not start`);
      return status === 'running' ? url : undefined;
    });
  };
  return {
    user,
    base,
    api,
    open: (path = '/ui/', options = {}) => openPage(base, path, options),
    create,
    remove,
    async run(name, ...args) {
      const { none } = builtInProfiles;
      await create({ name, image: uiServer, cmd_arguments: args, permission_profile: none });
    },
    [Symbol.asyncDispose]: () => everythingElse.disposeAsync(),
  };
}

/** Opens a page, in a browser context of its own unless the file shares them. */
export async function openPage(
  base: string,
  path: string,
  options: BrowserContextOptions = {},
): Promise<UiPage> {
  const settings = { baseURL: base, colorScheme: 'light' as const, ...options };
  const { context, page, close } = await newPage(settings);
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
  const watch = (request: Request): void => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(base)) foreign.push(request.url());
  };
  context.on('request', watch);
  await page.goto(path);
  return {
    page,
    errors,
    foreign,
    dialogs,
    async [Symbol.asyncDispose]() {
      context.off('request', watch);
      await close();
    },
  };
}

async function newPage(
  settings: BrowserContextOptions & { baseURL: string },
): Promise<{ context: BrowserContext; page: Page; close: () => Promise<unknown> }> {
  if (contexts === undefined) {
    const context = await browser.newContext(settings);
    return { context, page: steady(await context.newPage()), close: () => context.close() };
  }
  // How a page looks is set for the page, so that pages that look differently share a process, too.
  const { viewport, colorScheme, ...others } = settings;
  const key = JSON.stringify(others);
  const opening = contexts.get(key) ?? openShared(others);
  contexts.set(key, opening);
  const { context, kept } = await opening;
  const page = steady(await context.newPage());
  if (viewport) await page.setViewportSize(viewport);
  await page.emulateMedia({ colorScheme });
  const session = await context.newCDPSession(page);
  await session.send('Storage.clearDataForOrigin', {
    origin: settings.baseURL,
    storageTypes: 'local_storage',
  });
  await session.detach();
  const closeAll = (): Promise<unknown> =>
    Promise.all(
      context
        .pages()
        .filter((each) => each !== kept)
        .map((each) => each.close()),
    );
  return { context, page, close: closeAll };
}

/** A context with a page of its site, which keeps the process for the next page. */
async function openShared(settings: BrowserContextOptions): Promise<SharedContext> {
  const context = await browser.newContext(settings);
  const kept = await context.newPage();
  await kept.route('**/*', (route) =>
    route.fulfill({ contentType: 'text/html', body: '<title>kept</title>' }),
  );
  await kept.goto('/');
  return { context, kept };
}

let axeSource: Promise<string> | undefined;

function axe(): Promise<string> {
  return (axeSource ??= readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'));
}

/** The rules that depend on the colors of the page. */
const colorRules = ['color-contrast', 'link-in-text-block'];

/** Everything that axe finds on the page as it is, one line each, by all rules or only those about colors. */
export async function violations(page: Page, { onlyColors = false } = {}): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(await axe());
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
