import { existsSync } from 'node:fs';
import { glob, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Mermaid } from 'mermaid';
import { chromium } from 'playwright-core';
import { diagramFile, diagramFolder, diagramThemes } from './diagrams.ts';
import { chromiumOptions } from '@toolhive/testing/machine';

const docs = fileURLToPath(new URL('../../../', import.meta.url));
type Mode = keyof typeof diagramThemes;
const modes = Object.keys(diagramThemes) as Mode[];

/** Renders new diagrams of the documentation, and removes diagrams that no page uses. */
export async function drawDiagrams(): Promise<void> {
  const { missing, left } = await compare();
  for (const file of left) await rm(diagramFolder + file);
  if (missing.length === 0) return;
  await mkdir(diagramFolder, { recursive: true });
  await using browser = await chromium.launch(chromiumOptions);
  const engine = await readFile(fileURLToPath(import.meta.resolve('mermaid/dist/mermaid.min.js')), 'utf8');
  for (const { file, text, mode } of missing) {
    const page = await browser.newPage();
    await page.addScriptTag({ content: engine });
    const svg = await page.evaluate(draw, { text, theme: diagramThemes[mode], id: `d${file.slice(0, 12)}` });
    await writeFile(diagramFolder + file, `${svg}\n`);
    await page.close();
  }
}

/** Differences between the rendered diagrams and the pages, one sentence each. */
export async function findUndrawn(): Promise<string[]> {
  const { missing, left } = await compare();
  return [
    ...missing.map(({ page }) => `${page} has a diagram that is not drawn; run npm run generate`),
    ...left.map((file) => `${file} is a diagram of no page; run npm run generate`),
  ];
}

interface Drawing {
  file: string;
  text: string;
  mode: Mode;
  page: string;
}

async function compare(): Promise<{ missing: Drawing[]; left: string[] }> {
  const wanted: Drawing[] = [];
  for await (const page of glob('{docs,src}/**/*.{md,mdx}', { cwd: docs })) {
    const markdown = await readFile(docs + page, 'utf8');
    for (const [, text = ''] of markdown.matchAll(/^```mermaid[^\n]*\n([^]*?)^```/gm)) {
      for (const mode of modes) wanted.push({ file: diagramFile(text, mode), text, mode, page });
    }
  }
  const drawn = existsSync(diagramFolder) ? await Array.fromAsync(glob('*.svg', { cwd: diagramFolder })) : [];
  return {
    missing: wanted.filter(({ file }) => !drawn.includes(file)),
    left: drawn.filter((path) => !wanted.some(({ file }) => file === basename(path))),
  };
}

/** The parts of the DOM that `draw` uses. Programs that import this file know no browser. */
interface Shape {
  textContent: string | null;
  parentElement: Shape | null;
  closest: (selector: string) => Shape | null;
  querySelector: (selector: string) => Shape | null;
  querySelectorAll: (selector: string) => Iterable<Shape>;
  getBBox: () => { x: number; y: number; width: number; height: number };
  setAttribute: (name: string, value: string) => void;
  prepend: (child: Shape) => void;
  append: (child: Shape) => void;
}

interface Browser {
  mermaid: Mermaid;
  document: { body: Shape & { innerHTML: string }; createElementNS: (space: string, tag: string) => Shape };
  getComputedStyle: (shape: Shape) => { fill: string };
  XMLSerializer: new () => { serializeToString: (shape: Shape) => string };
}

/** Runs in the browser. Labels are SVG text instead of HTML, so that the file works as an image. */
async function draw({ text, theme, id }: { text: string; theme: string; id: string }): Promise<string> {
  const { mermaid, document, getComputedStyle, XMLSerializer } = globalThis as unknown as Browser;
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: 'strict',
    theme: theme as 'neutral',
    fontFamily: 'system-ui, sans-serif',
    htmlLabels: false,
    // So narrow that a phone shows letters of at least 12 pixels.
    flowchart: { htmlLabels: false, nodeSpacing: 20, rankSpacing: 40, minNodeWidth: 60, padding: 10 },
    sequence: { width: 110, actorMargin: 30, diagramMarginX: 4 },
    deterministicIds: true,
  });
  const { svg } = await mermaid.render(id, text);
  document.body.innerHTML = svg;
  // Lines would cross the titles of groups, so each title gets a background and is drawn after the lines.
  for (const title of document.body.querySelectorAll('.cluster-label')) {
    const box = title.parentElement?.querySelector(':scope > rect');
    const root = title.closest('.root');
    if (!box || !root || title.textContent === '') continue;
    const { x, y, width, height } = title.getBBox();
    const ground = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
    const place = { x, y, width, height, style: `fill: ${getComputedStyle(box).fill}; stroke: none` };
    for (const [name, value] of Object.entries(place)) ground.setAttribute(name, String(value));
    title.prepend(ground);
    root.append(title);
  }
  return new XMLSerializer().serializeToString(document.body.querySelector('svg') ?? document.body);
}
