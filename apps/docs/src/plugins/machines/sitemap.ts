import { execFileSync } from 'node:child_process';
import type { Options } from '@docusaurus/plugin-sitemap';
import type { RouteConfig } from '@docusaurus/types';

type CreateItems = NonNullable<Options['createSitemapItems']>;

/** The sitemap, with the date of the last change of each page if the repository history is available. */
export const sitemapItems: CreateItems = async ({ defaultCreateSitemapItems, ...params }) => {
  const days = lastChanges();
  const sources = new Map(
    params.routes.flatMap(withRoutesBelow).map(({ path, metadata }) => [path, metadata?.sourceFilePath]),
  );
  const items = await defaultCreateSitemapItems(params);
  return items.map((item) => {
    const lastmod = days.get(sources.get(new URL(item.url).pathname) ?? '');
    return lastmod === undefined ? item : { ...item, lastmod };
  });
};

function withRoutesBelow(route: RouteConfig): RouteConfig[] {
  return [route, ...(route.routes ?? []).flatMap(withRoutesBelow)];
}

/** The date of the last change of each file in this folder, with a single Git command. */
function lastChanges(): Map<string, string> {
  const days = new Map<string, string>();
  let day = '';
  for (const line of history().split('\n')) {
    if (/^\d{4}-\d\d-\d\d$/.test(line)) day = line;
    else if (line !== '' && !days.has(line)) days.set(line, day);
  }
  return days;
}

function history(): string {
  const cwd = new URL('../../..', import.meta.url).pathname;
  const args = ['log', '--format=%cs', '--name-only', '--relative', '--', '.'];
  try {
    return execFileSync('git', args, { cwd, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, stdio: 'pipe' });
  } catch {
    return ''; // a copy without its history
  }
}
