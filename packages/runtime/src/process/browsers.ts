import { access, constants } from 'node:fs/promises';
import { dirname } from 'node:path';
import { unavailable } from '@toolhive/contract/failure';
import type { Launch } from '../runtime.ts';

/** What a server needs to start the browser of this machine. */
interface BrowserSettings {
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  /** The files of the browser, outside the directories that every sandbox has. */
  readOnlyPaths: readonly string[];
}

const nothing: BrowserSettings = { args: [], env: {}, readOnlyPaths: [] };

/**
 * The npm packages that start a browser, and the settings that choose the browser. The browser runs without an inner
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

/** Arguments and variables with which the user chooses a browser. */
const choices =
  /^--(?:browser|channel|executable-?path|cdp-endpoint|browser-?url|ws-?endpoint|config)(?:=|$)/i;
const chosen =
  /^(?:PLAYWRIGHT_MCP_(?:EXECUTABLE_PATH|CDP_ENDPOINT|BROWSER|CONFIG)|PUPPETEER_EXECUTABLE_PATH)$/;

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
 * there is none.
 */
export async function browserFor(
  { source, args, env }: Pick<Launch, 'source' | 'args' | 'env'>,
  candidates: readonly string[] = programs,
): Promise<BrowserSettings> {
  if (source.kind !== 'package' || source.scheme !== 'npx' || !Object.hasOwn(servers, source.name))
    return nothing;
  if (args.some((arg) => choices.test(arg)) || Object.keys(env).some((name) => chosen.test(name)))
    return nothing;
  const browser = await firstOf(candidates, constants.X_OK);
  if (browser === undefined) {
    throw unavailable(`${source.name} needs Chromium or Google Chrome, and neither is installed`, {
      hint: 'install one of these browsers, for example with apt install chromium',
    });
  }
  const fonts = await firstOf(['/etc/fonts'], constants.R_OK);
  const files = browser.startsWith('/usr/') ? undefined : dirname(browser);
  const readOnlyPaths = [files, fonts].filter((path) => path !== undefined);
  return { ...(servers[source.name]?.(browser) ?? nothing), readOnlyPaths };
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
