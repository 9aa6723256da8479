import { readFile, realpath, stat } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';
import * as z from 'zod';
import { fixedHeaders } from './guards.ts';

/** The documentation: a folder of files that a build has made. */
export interface Site {
  /** Answers a request for a page or a file. Undefined if the site does not exist, for example before its first build. */
  answer(request: Request): Promise<Response | undefined>;
}

/** The site in a directory, which can be created, removed, or replaced at any time. */
export function openSite(folder: string): Site {
  return {
    async answer(request) {
      const { pathname, search } = new URL(request.url);
      const canonical = pathname.replace(/(?<=\/)index\.html$|\.html$/, '');
      if (canonical !== pathname && !canonical.startsWith('//')) {
        return new Response(null, {
          status: 308,
          headers: { ...fixedHeaders, location: canonical + search },
        });
      }
      const found = await findFile(folder, pathname);
      if (found !== undefined) return fileResponse(request, folder, found, 200);
      const missing = await findFile(folder, '/404.html');
      return missing && fileResponse(request, folder, missing, 404);
    },
  };
}

interface SiteFile {
  path: string;
  /** From the folder of the site. */
  name: string;
  size: number;
  modified: Date;
}

/** The file that a path names: itself, or the page of that name. Nothing outside the folder, and no hidden file, is found. */
async function findFile(folder: string, pathname: string): Promise<SiteFile | undefined> {
  const path = decoded(pathname);
  if (path === undefined || /(^|[\\/])\.|[\\\0]/.test(path)) return undefined;
  const candidates = path.endsWith('/') ? [`${path}index.html`] : [path, `${path}/index.html`];
  for (const candidate of candidates) {
    const file = await fileAt(folder, join(folder, candidate));
    if (file !== undefined) return file;
  }
  return undefined;
}

async function fileAt(folder: string, path: string): Promise<SiteFile | undefined> {
  try {
    const [root, real] = await Promise.all([realpath(folder), realpath(path)]);
    if (!real.startsWith(root + sep)) return undefined; // a link that leads elsewhere
    const stats = await stat(real);
    const name = real.slice(root.length + 1);
    return stats.isFile() ? { path: real, name, size: stats.size, modified: stats.mtime } : undefined;
  } catch {
    return undefined; // an unreadable file is a missing page
  }
}

function decoded(pathname: string): string | undefined {
  try {
    return decodeURIComponent(pathname);
  } catch {
    return undefined; // a percent sign that begins nothing
  }
}

async function fileResponse(
  request: Request,
  folder: string,
  file: SiteFile,
  status: 200 | 404,
): Promise<Response> {
  const { path, encoding } = await encoded(folder, file, request.headers.get('accept-encoding') ?? '');
  // A weak one, for the file in every encoding: they mean the same.
  const etag = `W/"${file.size.toString(36)}-${file.modified.getTime().toString(36)}"`;
  // Files with a hash in their name never change. The browser revalidates all other files.
  const isAsset = file.name.startsWith(`assets${sep}`);
  const headers: Record<string, string> = {
    ...fixedHeaders,
    // These headers restrict pages. Scripts, styles, and fonts do not need them.
    ...(isAsset ? {} : await headersOf(folder)),
    'content-type': typeOf(file.name),
    'cache-control': isAsset ? 'public, max-age=31536000, immutable' : 'no-cache',
    etag,
    vary: 'accept-encoding',
    ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
  };
  const known = request.headers.get('if-none-match')?.split(',') ?? [];
  if (status === 200 && known.some((one) => one.trim() === etag)) {
    return new Response(null, { status: 304, headers });
  }
  return new Response(request.method === 'HEAD' ? null : await readFile(path), { status, headers });
}

/** The compressed versions of a file, the smallest first. */
const encodings = [
  { encoding: 'br', end: '.br' },
  { encoding: 'gzip', end: '.gz' },
] as const;

/** The smallest version of a file that the browser accepts. */
async function encoded(
  folder: string,
  { path }: SiteFile,
  accepted: string,
): Promise<{ path: string; encoding?: string }> {
  for (const { encoding, end } of encodings) {
    const compressed = acceptsEncoding(accepted, encoding) ? await fileAt(folder, path + end) : undefined;
    if (compressed !== undefined) return { path: compressed.path, encoding };
  }
  return { path };
}

/** Whether a list of codings has this one, and not with the weight that refuses it. */
export function acceptsEncoding(list: string, coding: string): boolean {
  const isRefused = new Map(
    list.split(',').map((item) => {
      const [name = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
      return [name, parameters.some((parameter) => /^q\s*=\s*0(\.0*)?$/.test(parameter))];
    }),
  );
  return isRefused.get(coding) === false;
}

const Headers = z.record(z.string(), z.string());

/** The headers of every page from the build, including the Content-Security-Policy. */
async function headersOf(folder: string): Promise<Record<string, string>> {
  const text = await readFile(join(folder, 'headers.json'), 'utf8').catch(() => undefined); // none is as strict as can be
  return text === undefined ? {} : Headers.parse(JSON.parse(text));
}

const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
  '.xml': 'application/xml; charset=utf-8',
  '.yaml': 'application/yaml; charset=utf-8',
};

export function typeOf(path: string): string {
  return types[extname(path)] ?? 'application/octet-stream';
}
