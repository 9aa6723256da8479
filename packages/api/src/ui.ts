import { readdir, readFile } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import { raiseFault } from '@toolhive/contract/fault';
import type { AppFrames } from './app-frames.ts';
import { appPaths } from './app-policy.ts';
import { fixedHeaders } from './guards.ts';
import { acceptsEncoding, typeOf } from './site.ts';
import type { Site } from './site.ts';

/** Reads a file of the built web UI by its name, such as `assets/main-1a2b.js.br`; undefined if there is none. */
export type ReadUiFile = (name: string) => Promise<Uint8Array | undefined>;

/** The path of the web UI. */
export const uiPath = '/ui/';

/**
 * The policy for pages of the web UI: they can load only their own files and call only their own API. Frames belong to MCP
 * Apps, on their origin. The policy also keeps a frame from going elsewhere.
 */
const policyWith = (frames: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    'media-src data:',
    "connect-src 'self'",
    `frame-src ${frames}`,
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ');

const pageHeaders = {
  ...fixedHeaders,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
};

/** Serves the built web UI: its files, and the same page for every screen. */
export function openUi(read: ReadUiFile, frames?: Pick<AppFrames, 'originFor'>): Site {
  return {
    async answer(request) {
      const { pathname } = new URL(request.url);
      if (pathname === uiPath.slice(0, -1)) {
        return new Response(null, { status: 308, headers: { ...fixedHeaders, location: uiPath } });
      }
      if (!pathname.startsWith(uiPath)) return undefined;
      const path = pathname.slice(uiPath.length);
      const isFile = /^(?:assets\/)?[\w-]+(?:\.[\w-]+)*\.[a-z0-9]+$/.test(path);
      const name = isFile ? path : 'index.html';
      const policy = await policyFor(request, name, frames);
      const bytes = await encodedFile(read, name, request.headers.get('accept-encoding') ?? '');
      if (bytes !== undefined) return fileResponse(request, { name, policy }, bytes);
      // Workload names can contain dots, so a path without a file is a screen.
      const page = await encodedFile(read, 'index.html', request.headers.get('accept-encoding') ?? '');
      return page !== undefined && !path.startsWith('assets/')
        ? fileResponse(request, { name: 'index.html', policy }, page)
        : new Response('not found\n', { status: 404, headers: fixedHeaders });
    },
  };
}

interface EncodedFile {
  body: Uint8Array;
  isBrotli: boolean;
}

/** Texts are stored compressed only. */
async function encodedFile(
  read: ReadUiFile,
  name: string,
  accepted: string,
): Promise<EncodedFile | undefined> {
  const compressed = await read(`${name}.br`);
  if (compressed === undefined) {
    const body = await read(name);
    return body && { body, isBrotli: false };
  }
  return acceptsEncoding(accepted, 'br')
    ? { body: compressed, isBrotli: true }
    : { body: await promisify(brotliDecompress)(compressed), isBrotli: false };
}

/** Only the page of the web UI embeds frames. Without an origin for them, the web UI works without apps. */
async function policyFor(
  { headers }: Request,
  name: string,
  frames: Pick<AppFrames, 'originFor'> | undefined,
): Promise<string> {
  const isPage = name === 'index.html';
  const origin = isPage
    ? await frames?.originFor(headers.get('host') ?? '').catch(() => undefined)
    : undefined;
  return policyWith(origin === undefined ? "'none'" : `${origin}${appPaths.frame}`);
}

function fileResponse(
  { method }: Request,
  { name, policy }: { name: string; policy: string },
  { body, isBrotli }: EncodedFile,
): Response {
  const isAsset = name.startsWith('assets/');
  const headers = {
    ...pageHeaders,
    'content-security-policy': policy,
    'content-type': typeOf(name),
    // Assets have a hash in their names. The page is small, and must never be older than its assets.
    'cache-control': isAsset ? 'public, max-age=31536000, immutable' : 'no-cache',
    vary: 'accept-encoding',
    ...(isBrotli ? { 'content-encoding': 'br' } : {}),
  };
  // Every typed array is a body; the type of the parameter leaves out those over shared memory.
  return new Response(method === 'HEAD' ? null : (body as Uint8Array<ArrayBuffer>), { headers });
}

/** Reads the files of a folder. Names come from `openUi`, which allows no path separators but that of `assets/`. */
export function uiFilesIn(folder: string): ReadUiFile {
  return async (name) => {
    if (extname(name) === '') return undefined;
    return readFile(join(folder, name)).catch(() => undefined); // the file does not exist
  };
}

/**
 * The same, but the files stay as they were after `keepAfterMs` or at the first request. An upgrade of the npm package replaces
 * them, and the pages of another version do not fit a daemon that continues to run.
 */
export function keptUiFilesIn(folder: string, keepAfterMs: number): ReadUiFile {
  let all: Promise<Map<string, Uint8Array>> | undefined;
  const keep = (): Promise<Map<string, Uint8Array>> => (all ??= filesIn(folder));
  setTimeout(() => {
    keep().catch(raiseFault);
  }, keepAfterMs).unref();
  return async (name) => (await keep()).get(name);
}

/** Without files that an upgrade removes at the same time. */
async function filesIn(folder: string): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  for (const path of await readdir(folder, { recursive: true }).catch(() => [])) {
    const content = await readFile(join(folder, path)).catch(() => undefined); // also for directories
    if (content !== undefined) files.set(path.replaceAll(sep, '/'), content);
  }
  return files;
}
