import { access, constants, lstat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { unavailable } from '@toolhive/contract/failure';
import * as z from 'zod';
import type { Launch } from '../runtime.ts';
import { readPackageJson } from './installers/package-files.ts';
import { inside } from './plan.ts';

/** The settings with which a server starts the browser of this machine. */
interface BrowserSettings {
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  /** The files of the browser, outside the directories that every sandbox has. */
  readOnlyPaths: readonly string[];
  /** Programs and links to make up in the sandbox, by their path. */
  programs: Readonly<Record<string, string>>;
  links: Readonly<Record<string, string>>;
}

const nothing: BrowserSettings = { args: [], env: {}, readOnlyPaths: [], programs: {}, links: {} };

/**
 * The npm packages whose settings choose the browser, and the settings that choose the browser. The browser runs without an inner
 * sandbox, because it could not create one inside the server's sandbox, which confines it instead.
 */
const servers: Readonly<Record<string, (browser: string) => Pick<BrowserSettings, 'args' | 'env'>>> = {
  '@playwright/mcp': (browser) => ({
    args: ['--executable-path', browser, '--headless', '--isolated', '--no-sandbox'],
    env: {},
  }),
  'chrome-devtools-mcp': (browser) => ({
    args: [`--executablePath=${browser}`, '--headless', '--isolated', '--chromeArg=--no-sandbox'],
    env: {},
  }),
  '@modelcontextprotocol/server-puppeteer': (browser) => ({
    args: [],
    env: {
      PUPPETEER_EXECUTABLE_PATH: browser,
      PUPPETEER_LAUNCH_OPTIONS: JSON.stringify({ headless: true, args: ['--no-sandbox'] }),
      ALLOW_DANGEROUS: 'true', // or the server refuses --no-sandbox
    },
  }),
};

/** Libraries that start a browser, by the directory in which installers put them. */
const libraries: Readonly<Record<'npx' | 'uvx', readonly string[]>> = {
  npx: [
    'playwright-core',
    'patchright-core',
    'puppeteer',
    'puppeteer-core',
    'rebrowser-puppeteer-core',
    'chrome-launcher',
  ],
  uvx: [
    'playwright',
    'patchright',
    'pyppeteer',
    'selenium',
    'nodriver',
    'zendriver',
    'pydoll',
    'browser_use',
  ],
};

/** Where servers find the browser in their sandbox. It is on PATH. */
const BROWSER = `${dirname(inside.node)}/chromium`;
const BROWSERS = '/opt/toolhive/browsers';

/** Variables that libraries read. Any library finds the browser by one of these, by its name on PATH, or by its usual path. */
const variables = {
  PUPPETEER_EXECUTABLE_PATH: BROWSER,
  PUPPETEER_SKIP_DOWNLOAD: 'true',
  CHROME_PATH: BROWSER,
  CHROME_BIN: BROWSER,
  PLAYWRIGHT_BROWSERS_PATH: BROWSERS,
};

const names = ['chrome', 'google-chrome', 'google-chrome-stable', 'chromium-browser'];

/** The places of the browsers that Playwright downloads, in its directory with the number of the revision. */
const playwrightPlaces = [
  'chromium-REVISION/chrome-linux/chrome',
  'chromium-REVISION/chrome-linux64/chrome',
  'chromium-REVISION/chrome-linux-arm64/chrome',
  'chromium_headless_shell-REVISION/chrome-linux/headless_shell',
  'chromium_headless_shell-REVISION/chrome-headless-shell-linux64/chrome-headless-shell',
  'chromium_headless_shell-REVISION/chrome-headless-shell-linux-arm64/chrome-headless-shell',
];

/** Arguments and variables with which the user chooses a browser. */
const choices =
  /^--(?:browser|channel|executable-?path|cdp-endpoint|browser-?url|ws-?endpoint|config)(?:=|$)/i;
const chosen =
  /^(?:PLAYWRIGHT_MCP_(?:EXECUTABLE_PATH|CDP_ENDPOINT|BROWSER|CONFIG)|PUPPETEER_EXECUTABLE_PATH|PLAYWRIGHT_BROWSERS_PATH|CHROME_(?:PATH|BIN))$/;

/** The programs themselves. On PATH are scripts that read files that no sandbox has. */
const programs = [
  '/opt/google/chrome/chrome',
  '/usr/lib/chromium/chromium',
  '/usr/lib64/chromium/chromium',
  '/usr/lib/chromium-browser/chromium-browser',
  '/usr/lib64/chromium-browser/chromium-browser',
];

/**
 * Finds the browser of this machine for a server that starts one, unless the user has chosen one. Throws `unavailable` if
 * there is none, and the server can do nothing without it. A package's content only decides whether the server finds the
 * browser, which every sandbox could start, and under which names.
 */
export async function browserFor(
  { source, args, env }: Pick<Launch, 'source' | 'args' | 'env'>,
  folder: string,
  candidates: readonly string[] = programs,
): Promise<BrowserSettings> {
  if (source.kind !== 'package' || source.scheme === 'go') return nothing;
  if (args.some((arg) => choices.test(arg)) || Object.keys(env).some((name) => chosen.test(name)))
    return nothing;
  const isKnown = source.scheme === 'npx' && Object.hasOwn(servers, source.name);
  const places = await librariesIn(folder, source.scheme);
  if (!isKnown && places.length === 0) return nothing;
  const browser = await firstOf(candidates, constants.X_OK);
  if (browser === undefined && !isKnown) return nothing; // it may need the browser for one tool of many
  if (browser === undefined) {
    throw unavailable(`${source.name} needs Chromium or Google Chrome, and neither is installed`, {
      hint: 'install one of these browsers, for example with apt install chromium',
    });
  }
  const fonts = await firstOf(['/etc/fonts'], constants.R_OK);
  const files = browser.startsWith('/usr/') ? undefined : dirname(browser);
  const readOnlyPaths = [files, fonts].filter((path) => path !== undefined);
  if (isKnown) return { ...nothing, ...servers[source.name]?.(browser), readOnlyPaths };
  const revisions = (await Promise.all(places.map((place) => revisionsIn(folder, place)))).flat();
  const paths = [
    ...names.map((name) => `${dirname(BROWSER)}/${name}`),
    ...revisions.flatMap((revision) =>
      playwrightPlaces.map((place) => `${BROWSERS}/${place.replace('REVISION', revision)}`),
    ),
  ];
  return {
    args: [],
    env: variables,
    readOnlyPaths,
    // Without an inner sandbox, which it could not create here, and without a display.
    programs: {
      [BROWSER]: `#!/bin/sh\nexec ${browser} --no-sandbox --headless --disable-dev-shm-usage "$@"\n`,
    },
    links: Object.fromEntries(paths.map((path) => [path, BROWSER])),
  };
}

/** The directories of the libraries that start a browser, in a package's folder. */
async function librariesIn(folder: string, scheme: 'npx' | 'uvx'): Promise<string[]> {
  const roots = scheme === 'npx' ? ['node_modules'] : await sitePackages(folder);
  const all = roots.flatMap((root) => libraries[scheme].map((name) => join(root, name)));
  const found = await Promise.all(
    all.map(async (place) => ((await lstatOf(join(folder, place)))?.isDirectory() === true ? [place] : [])),
  );
  return found.flat();
}

const lstatOf = (path: string) => lstat(path).catch(() => undefined);

async function sitePackages(folder: string): Promise<string[]> {
  const tools = (await readdir(join(folder, 'tools')).catch(() => [])).map((name) => join('tools', name));
  const found = await Promise.all(
    [...tools, 'venv'].map(async (root) => {
      const versions = await readdir(join(folder, root, 'lib')).catch(() => []);
      return versions.map((version) => join(root, 'lib', version, 'site-packages'));
    }),
  );
  return found.flat();
}

const Revisions = z.object({
  browsers: z.array(z.looseObject({ name: z.string(), revision: z.string().regex(/^\d{1,8}$/) })),
});

/** The revisions of Chromium that a version of Playwright looks for. */
async function revisionsIn(folder: string, place: string): Promise<string[]> {
  const files = ['browsers.json', 'driver/package/browsers.json'];
  const lists = await Promise.all(files.map((file) => readPackageJson(folder, join(place, file))));
  return lists.flatMap((list) =>
    (Revisions.safeParse(list).data?.browsers ?? [])
      .filter(({ name }) => /^chromium(?:-headless-shell)?$/.test(name))
      .map(({ revision }) => revision),
  );
}

async function firstOf(paths: readonly string[], mode: number): Promise<string | undefined> {
  for (const path of paths) {
    const isThere = await access(path, mode).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return undefined;
}
