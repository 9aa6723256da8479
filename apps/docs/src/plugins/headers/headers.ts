import { createHash } from 'node:crypto';
import { glob, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PluginConfig } from '@docusaurus/types';
import type { Settings } from '../../../site.ts';
import { searchHosts } from '../search/search.ts';

/** Writes the HTTP headers of pages for common hosts, above all the allowed sources of scripts and other content. */
export function headersPlugin(settings: Settings): PluginConfig {
  return function headers() {
    return {
      name: 'headers',
      async postBuild({ outDir }) {
        const headers = {
          ...always,
          'content-security-policy': policy(await inlineScripts(outDir), settings),
        };
        for (const [name, text] of Object.entries(filesFor(headers)))
          await writeFile(join(outDir, name), text);
      },
    };
  };
}

const always = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'strict-origin-when-cross-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
};

/** The hash of every inline script, in the format of the policy. */
async function inlineScripts(folder: string): Promise<string[]> {
  const hashes = new Set<string>();
  for await (const page of glob('**/*.html', { cwd: folder })) {
    const html = await readFile(join(folder, page), 'utf8');
    for (const [, attributes = '', script = ''] of html.matchAll(/<script([^>]*)>([^]*?)<\/script>/g)) {
      const isRun = !/\bsrc=/.test(attributes) && !/\btype=["']?application\/(ld\+)?json/.test(attributes);
      if (isRun) hashes.add(`'sha256-${createHash('sha256').update(script).digest('base64')}'`);
    }
  }
  return [...hashes].toSorted((a, b) => a.localeCompare(b));
}

/** Only this site, its inline scripts, and the configured services. */
function policy(scripts: readonly string[], { tagManager, feedback, search }: Settings): string {
  const manager = tagManager === undefined ? [] : ['https://www.googletagmanager.com'];
  const answers = feedback === undefined ? [] : [new URL(feedback).origin];
  const sources: Record<string, readonly string[]> = {
    'default-src': ["'none'"],
    'script-src': ["'self'", ...scripts, ...manager],
    // Highlighted code and the progress bar use style attributes.
    'style-src': ["'self'", "'unsafe-inline'"],
    'img-src': ["'self'", 'data:', ...manager],
    'font-src': ["'self'"],
    'connect-src': ["'self'", ...searchHosts(search), ...manager, ...answers],
    'manifest-src': ["'self'"],
    'worker-src': ["'self'"],
    'frame-src': manager.length > 0 ? manager : ["'none'"],
    'base-uri': ["'none'"],
    'form-action': ["'self'"],
    'frame-ancestors': ["'none'"],
  };
  return Object.entries(sources)
    .map(([kind, from]) => `${kind} ${from.join(' ')}`)
    .join('; ');
}

/** The same headers in the format of each host. The daemon reads the first format. */
function filesFor(headers: Record<string, string>): Record<string, string> {
  const entries = Object.entries(headers);
  const asset = 'public, max-age=31536000, immutable';
  return {
    'headers.json': JSON.stringify(headers, null, 2),
    // Netlify and Cloudflare Pages
    _headers: `/*\n${entries.map(([name, value]) => `  ${name}: ${value}\n`).join('')}/assets/*\n  cache-control: ${asset}\n`,
    'vercel.json': JSON.stringify({
      headers: [
        { source: '/(.*)', headers: entries.map(([key, value]) => ({ key, value })) },
        { source: '/assets/(.*)', headers: [{ key: 'cache-control', value: asset }] },
      ],
    }),
    'nginx-headers.conf': entries
      .map(([name, value]) => `add_header ${name} ${JSON.stringify(value)} always;\n`)
      .join(''),
  };
}
