import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Resvg } from '@resvg/resvg-js';
import react from '@vitejs/plugin-react';
import type { Operation } from '@toolhive/contract/operation';
import { operations } from '@toolhive/contract/operations';
import { defineConfig } from 'vite';
import type { Plugin } from 'vite';

/** Where the daemon serves the web UI. */
const base = '/ui/';

/** The script between the web UI and an app, which the daemon serves on the origin for apps. */
const gate = 'app-gate';

/** The modules that the page and the gate load first. */
const isEntry = (id: string): boolean => /\/(?:index\.html|src\/main\.tsx|app-gate\/[^/]+)$/.test(id);

/** The daemon that the development server forwards requests to. */
const daemon = process.env['TOOLHIVE_API_URL'] ?? 'http://127.0.0.1:8080';

export default defineConfig({
  root: import.meta.dirname,
  base,
  plugins: [react(), operationsWithoutSchemas(), colorsOfDocumentation(), pngIcon(), styleSheetFirst()],
  build: {
    target: ['chrome120', 'firefox121', 'safari17.4'],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // the Content-Security-Policy allows no inline styles or scripts
    cssCodeSplit: false,
    emptyOutDir: true,
    manifest: '.chunks.json',
    rolldownOptions: {
      checks: { pluginTimings: false },
      input: {
        index: fileURLToPath(new URL('index.html', import.meta.url)),
        [gate]: fileURLToPath(new URL('src/app-gate/gate.ts', import.meta.url)),
      },
      output: {
        // The daemon finds the gate by its name, and puts it into a document of its own.
        entryFileNames: ({ name }) => (name === gate ? '[name].js' : 'assets/[name]-[hash].js'),
        // The modules that every screen needs are one file. By default they would be twenty, and twenty requests.
        codeSplitting: {
          groups: [{ name: 'first-view', tags: ['$initial'], test: (id) => !isEntry(id) }],
        },
      },
    },
  },
  server: { proxy: { '/api': { target: daemon, changeOrigin: true } } },
});

/**
 * Replaces the operations by what the client needs of them: their routes and the kinds of their answers. The schemas
 * and the validation library would be a quarter of the script.
 */
function operationsWithoutSchemas(): Plugin {
  const virtual = '\0operations';
  return {
    name: 'operations-without-schemas',
    enforce: 'pre',
    resolveId(source, importer) {
      const isClient = importer?.endsWith('/contract/src/client.ts') === true;
      return isClient && source.endsWith('/operations.ts') ? virtual : undefined;
    },
    load(id) {
      if (id !== virtual) return undefined;
      const routes = Object.entries<Operation>(operations).map(
        ([name, { method, path, progress, success }]) => [
          name,
          { method, path, progress, success: { body: shapeOf(success.body) } },
        ],
      );
      return `export const operations = ${JSON.stringify(Object.fromEntries(routes))};`;
    },
  };
}

function shapeOf(body: Operation['success']['body']): unknown {
  if (body === undefined || body === 'text') return body;
  return 'events' in body ? { events: {} } : {};
}

/** The side of the icon for home screens, in pixels. */
const iconSize = 512;
/** Systems crop an icon to a circle of 80 % of its side. The picture fits into that circle. */
const pictureSize = 400;

/** Draws `icon-512.png` from `icon.svg` on the background of the manifest: some systems take no SVG for an installed app. */
function pngIcon(): Plugin {
  const read = (name: string): Promise<string> =>
    readFile(new URL(`public/${name}`, import.meta.url), 'utf8');
  return {
    name: 'png-icon',
    apply: 'build',
    async generateBundle() {
      const picture = await read('icon.svg');
      const manifest = await read('manifest.webmanifest');
      const { background_color: background } = JSON.parse(manifest) as { background_color: string };
      const margin = (iconSize - pictureSize) / 2;
      const placed = picture.replace(
        '<svg ',
        `<svg x="${margin}" y="${margin}" width="${pictureSize}" height="${pictureSize}" `,
      );
      const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${iconSize}" height="${iconSize}"><rect width="100%" height="100%" fill="${background}"/>${placed}</svg>`;
      this.emitFile({
        type: 'asset',
        fileName: `icon-${iconSize}.png`,
        source: new Resvg(svg).render().asPng(),
      });
    },
  };
}

/** Browsers open six connections, and the first paint needs the style sheet, so no script is requested before it. */
function styleSheetFirst(): Plugin {
  return {
    name: 'style-sheet-first',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler(html) {
        const [link] = /<link rel="stylesheet"[^>]*>/.exec(html) ?? [];
        if (link === undefined) throw new Error('the built page has no style sheet');
        return html.replace(link, '').replace('<script', () => `${link}\n    <script`);
      },
    },
  };
}

/** The custom properties of the web UI, and those of the documentation that they have their values from. */
const colors = {
  accent: '--ifm-color-primary',
  'accent-strong': '--ifm-color-primary-darker',
  ground: '--ifm-background-color',
  text: '--ifm-font-color-base',
  heading: '--ifm-heading-color',
  quiet: '--th-quiet',
  line: '--th-line',
  raised: '--th-raised',
  code: '--th-code',
  selected: '--ifm-menu-color-background-active',
  hover: '--ifm-menu-color-background-hover',
} as const;

/** Provides the colors of the documentation site as `virtual:colors.css`, so that both look the same. */
function colorsOfDocumentation(): Plugin {
  const source = fileURLToPath(new URL('../docs/src/css/site.css', import.meta.url));
  const virtual = '\0colors.css';
  return {
    name: 'colors-of-documentation',
    resolveId: (name) => (name === 'virtual:colors.css' ? virtual : undefined),
    async load(id) {
      if (id !== virtual) return undefined;
      this.addWatchFile(source);
      const css = await readFile(source, 'utf8');
      const light = declarations(css, ':root');
      const dark = declarations(css, "[data-theme='dark']");
      return [
        `:root { color-scheme: light; ${light} }`,
        `@media (prefers-color-scheme: dark) { :root:not([data-theme='light']) { color-scheme: dark; ${dark} } }`,
        `[data-theme='dark'] { color-scheme: dark; ${dark} }`,
      ].join('\n');
    },
  };
}

function declarations(css: string, selector: string): string {
  const start = css.indexOf(`${selector} {`);
  const block = css.slice(start, css.indexOf('}', start));
  const found = Object.entries(colors).map(([name, from]) => {
    const [, value] = new RegExp(`${from}: ([^;]+);`).exec(block) ?? [];
    if (value === undefined) throw new Error(`${selector} in site.css does not define ${from}`);
    return `--${name}: ${value};`;
  });
  return found.join(' ');
}
