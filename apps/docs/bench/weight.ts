import { setTimeout } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { hydrated } from './hydrated.ts';

/** A kind of page, by one that stands for all of them, and what it may come to in bytes. */
export interface PageKind {
  name: string;
  path: string;
  budget: { total: number; script: number };
  /** Its answer says that there is no such page. */
  isMissing?: true;
  /** Search engines are asked not to list it. */
  isUnlisted?: true;
}

/** Bytes as they are sent, headers and Brotli and all, to a browser that has nothing of the site. */
const guide = { total: 300_000, script: 175_000 };

export const pageKinds: readonly PageKind[] = [
  { name: 'home page', path: '/', budget: { total: 300_000, script: 165_000 } },
  { name: 'start of the docs', path: '/toolhive/', budget: { total: 300_000, script: 170_000 } },
  { name: 'guide', path: '/toolhive/guides-cli/run-mcp-servers', budget: guide },
  { name: 'page with diagrams', path: '/toolhive/concepts/mcp-primer', budget: guide },
  { name: 'guide to a server', path: '/toolhive/guides-mcp/filesystem', budget: guide },
  { name: 'tutorial', path: '/toolhive/tutorials/quickstart-cli', budget: guide },
  {
    name: 'page of a command',
    path: '/toolhive/reference/cli/thv_run',
    budget: { total: 260_000, script: 170_000 },
  },
  { name: 'API reference', path: '/toolhive/reference/api', budget: guide },
  { name: 'schema of the registry', path: '/toolhive/reference/registry-schema', budget: guide },
  {
    name: 'search page, with its index',
    path: '/search?q=secrets',
    budget: { total: 354_000, script: 175_000 }, // with the index of the reference, Kubernetes, and adoption pages
    isUnlisted: true,
  },
  { name: 'page that is not there', path: '/nothing-here', budget: guide, isMissing: true, isUnlisted: true },
];

/** What was sent for one address. */
export interface Transfer {
  path: string;
  kind: 'page' | 'script' | 'style' | 'font' | 'picture' | 'other';
  bytes: number;
  /** Fetched when there is nothing else to do, for pages that the reader may go to next; never to save data. */
  isAhead: boolean;
}

/** When nothing was sent for so long, nothing more will be. */
const quietMs = 700;

/** Everything that is sent for a page, until there is nothing more. The browser must have nothing of the site yet. */
export async function weigh(page: Page, path: string): Promise<Transfer[]> {
  const transfers = new Map<string, Transfer>();
  const pending = new Set<string>();
  let lastMs = performance.now();
  const session = await page.context().newCDPSession(page);
  session.on('Network.requestWillBeSent', ({ requestId, request, type, initiator }) => {
    if (!request.url.startsWith('http')) return;
    // A worker takes its script from the cache, where the page stored it, but the page is not notified.
    if (type === 'Script' && initiator.type === 'other') return;
    pending.add(requestId);
    transfers.set(requestId, {
      path: new URL(request.url).pathname,
      kind: kindOf(request.url, type),
      bytes: 0,
      isAhead: request.initialPriority === 'VeryLow' && initiator.type !== 'parser',
    });
  });
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const transfer = transfers.get(requestId);
    if (transfer !== undefined) transfer.bytes = encodedDataLength;
    pending.delete(requestId);
    lastMs = performance.now();
  });
  session.on('Network.loadingFailed', ({ requestId }) => pending.delete(requestId));
  await session.send('Network.enable');
  await page.goto(path);
  await hydrated(page);
  while (pending.size > 0 || performance.now() - lastMs < quietMs) await setTimeout(quietMs / 10);
  await session.detach();
  return [...transfers.values()];
}

export interface Weight {
  total: number;
  script: number;
  ahead: number;
}

/** What transfers come to. What is fetched ahead is no part of the page, and told apart. */
export function sumOf(transfers: readonly Transfer[]): Weight {
  const sum = (isCounted: (one: Transfer) => boolean): number =>
    transfers.filter(isCounted).reduce((all, { bytes }) => all + bytes, 0);
  return {
    total: sum(({ isAhead }) => !isAhead),
    script: sum(({ kind, isAhead }) => kind === 'script' && !isAhead),
    ahead: sum(({ isAhead }) => isAhead),
  };
}

function kindOf(url: string, type: string | undefined): Transfer['kind'] {
  if (type === 'Document') return 'page';
  const { pathname } = new URL(url);
  const [, end = ''] = /\.(\w+)$/.exec(pathname) ?? [];
  return kinds[end] ?? 'other';
}

const kinds: Record<string, Transfer['kind']> = {
  css: 'style',
  ico: 'picture',
  js: 'script',
  png: 'picture',
  svg: 'picture',
  webp: 'picture',
  woff2: 'font',
};
