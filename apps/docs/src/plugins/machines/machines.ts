import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Plugin } from '@docusaurus/types';
import { clientDocument, clientDocumentPath } from '@toolhive/contract/client-document';
import { markdownPath } from '../../markdown-path.ts';
import { feedPath, releaseFeed } from '../references/releases.ts';
import { replaceFile } from '../replace.ts';
import { markdownOf } from './markdown-page.ts';
import { openPainter } from './social-image.ts';

/** A built page. */
interface Page {
  /** The path, with the trailing slash if the page has one. */
  path: string;
  file: string;
  html: string;
  title: string;
  description: string;
}

/** Pages that readers use but that contain no text, such as the search page. */
const withoutText = ['/search', '/theme-preview', '/404.html'];

/**
 * Makes of the built pages what programs read: each as Markdown beside itself, lists of them in `llms.txt` and
 * `llms-full.txt`, structured data, and the picture that is shown with a link to it. Also publishes the feed of
 * the release notes, and the document that describes ToolHive to authorization servers.
 */
export function machines(): Plugin {
  return {
    name: 'machines',
    async postBuild({ outDir, routesPaths, siteConfig }) {
      const paths = [...new Set(routesPaths)].filter((path) => !withoutText.includes(path));
      const pages = await Promise.all(paths.map((path) => readPage(outDir, path)));
      const texts = new Map<Page, string>();
      const paint = await openPainter();
      const painter = await readFile(new URL('social-image.ts', import.meta.url), 'utf8');
      for (const page of pages) {
        const text = await markdownOf(page.html);
        texts.set(page, text);
        await writeInto(outDir, markdownPath(page.path), `${text}\n`);
        const image = `/social/${hashOf(JSON.stringify([painter, page.title, page.description]))}.png`;
        await writeInto(outDir, image, await cached(image, () => paint(page.title, page.description)));
        await replaceFile(page.file, withHead(page, headOf(page, siteConfig, image)));
      }
      const { title, tagline } = siteConfig;
      const list = pages.map((page) => `- [${page.title}](${markdownPath(page.path)}): ${page.description}`);
      await writeInto(outDir, '/llms.txt', `# ${title}\n\n> ${tagline}\n\n## Pages\n\n${list.join('\n')}\n`);
      const all = pages.map((page) => `<!-- ${siteConfig.url}${page.path} -->\n\n${texts.get(page)}\n`);
      await writeInto(outDir, '/llms-full.txt', all.join('\n---\n\n'));
      await writeInto(outDir, feedPath, releaseFeed(title, siteConfig.url));
      const about = clientDocument(siteConfig.url + clientDocumentPath);
      await writeInto(outDir, clientDocumentPath, `${JSON.stringify(about, null, 2)}\n`);
    },
  };
}

async function readPage(folder: string, path: string): Promise<Page> {
  const file = join(folder, path, 'index.html');
  const html = await readFile(file, 'utf8');
  const title = /<title[^>]*>([^<]*)<\/title>/.exec(html)?.[1] ?? '';
  const description = /<meta [^>]*name=["']?description["']? content=(?:"([^"]*)"|'([^']*)')/.exec(html);
  return {
    path,
    file,
    html,
    title: decoded(title).replace(/ \| [^|]*$/, ''),
    description: decoded(description?.[1] ?? description?.[2] ?? ''),
  };
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#x27': "'", '#39': "'" };
const decoded = (text: string): string =>
  text.replaceAll(/&([^;]+);/g, (all, name: string) => entities[name] ?? all);

/** The additions to the head of a page: its Markdown, its picture, and its type. */
function headOf(
  { path, title, description }: Page,
  site: { url: string; title: string },
  image: string,
): string {
  const data = {
    '@context': 'https://schema.org',
    '@type': path === '/' ? 'WebSite' : 'TechArticle',
    headline: title,
    description,
    url: site.url + path,
    image: site.url + image,
    publisher: { '@type': 'Organization', name: site.title },
  };
  return [
    `<link rel="alternate" type="text/markdown" href="${markdownPath(path)}">`,
    `<meta property="og:image" content="${site.url}${image}">`,
    `<meta name="twitter:image" content="${site.url}${image}">`,
    // A less-than sign would end the script early.
    `<script type="application/ld+json">${JSON.stringify(data).replaceAll('<', String.raw`\u003c`)}</script>`,
  ].join('');
}

function withHead({ html }: Page, head: string): string {
  return html.replace('</head>', () => `${head}</head>`);
}

const cache = new URL('../../../../../node_modules/.cache/toolhive-docs', import.meta.url).pathname;

/** Existing pictures are not rendered again, because each takes a tenth of a second. */
async function cached(name: string, make: () => Promise<Buffer>): Promise<Buffer> {
  const kept = await readFile(cache + name).catch(() => undefined); // the first time
  if (kept !== undefined) return kept;
  const made = await make();
  await writeInto(cache, name, made);
  return made;
}

async function writeInto(folder: string, name: string, content: string | Buffer): Promise<void> {
  const path = join(folder, name);
  await mkdir(dirname(path), { recursive: true });
  await replaceFile(path, content);
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);
