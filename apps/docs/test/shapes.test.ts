// @suite docs (in depth)
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { siteFolder } from '../../../scripts/build-docs.ts';
import { diagramFolder } from '../src/plugins/diagrams/diagrams.ts';
import { hydrated } from '../bench/hydrated.ts';
import { useBrowser } from './browse.ts';

const visit = useBrowser({ isCached: true });

const sizes = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
];

/** The paths of all pages whose HTML contains a picture of a folder. */
async function pagesWith(folder: string): Promise<string[]> {
  const files = await Array.fromAsync(glob('**/index.html', { cwd: siteFolder }));
  const paths: string[] = [];
  for (const file of files)
    if ((await readFile(join(siteFolder, file), 'utf8')).includes(`src=/${folder}/`))
      paths.push(`/${file.replace(/index\.html$/, '')}`);
  return paths.toSorted();
}

/** Mermaid writes labels in this size. */
const letters = 16;
const smallest = 12;

interface Picture {
  shown: { width: number; height: number };
  drawn: { width: number; height: number };
}

/** The visible pictures on all pages with a picture of a folder, loaded once and looked at in each size. */
async function* picturesOf(folder: string, selector: string): AsyncGenerator<[where: string, Picture[]]> {
  await using visited = await visit('/');
  const { page } = visited;
  for (const path of await pagesWith(folder)) {
    await page.goto(path);
    await hydrated(page);
    for (const viewport of sizes) {
      await page.setViewportSize(viewport);
      const pictures = await page.locator(`${selector}:visible`).evaluateAll((all) =>
        all.map((one) => ({
          shown: { width: one.clientWidth, height: one.clientHeight },
          drawn: { width: Number(one.getAttribute('width')), height: Number(one.getAttribute('height')) },
        })),
      );
      yield [`${path} at ${viewport.width}`, pictures];
    }
  }
}

test('letters in diagrams have at least 12 pixels', async () => {
  const seen = await Array.fromAsync(picturesOf('diagrams', 'figure img[src^="/diagrams/"]'));

  const small = seen.flatMap(([where, pictures]) => [
    ...(pictures.length === 0 ? [`${where}: no diagram is visible`] : []),
    ...pictures
      .map(({ shown, drawn }) => (shown.width / drawn.width) * letters)
      .filter((height) => height < smallest)
      .map((height) => `${where}: ${height.toFixed(1)} px`),
  ]);
  expect(seen.length).toBeGreaterThan(5 * sizes.length);
  expect(small).toEqual([]);
});

test('pictures of the web UI keep their shape', async () => {
  const seen = await Array.fromAsync(picturesOf('img/ui', 'img.screenshot'));

  const stretched = seen.flatMap(([where, pictures]) => [
    ...(pictures.length === 0 ? [`${where}: no picture is visible`] : []),
    ...pictures
      .map(({ shown, drawn }) => [shown.width / shown.height, drawn.width / drawn.height] as const)
      .filter(([shown, drawn]) => Math.abs(shown / drawn - 1) > 0.02)
      .map(([shown, drawn]) => `${where}: ${shown} instead of ${drawn}`),
  ]);
  expect(seen.length).toBeGreaterThan(5 * sizes.length);
  expect(stretched).toEqual([]);
});

describe.for(sizes)('at a width of $width', (viewport) => {
  test('letters in the drawings of the home page have at least 12 pixels', async () => {
    await using visited = await visit('/', { viewport });

    const drawn = await visited.page.locator('main svg[role="img"] text').evaluateAll((all) =>
      all.map((one) => ({
        text: one.textContent,
        size:
          Number.parseFloat(getComputedStyle(one).fontSize) *
          ((one as SVGTextElement).getScreenCTM()?.a ?? 0),
      })),
    );

    expect(drawn.length).toBeGreaterThan(10);
    expect(drawn.filter(({ size }) => size < smallest)).toEqual([]);
  });

  test('no line of an output is cut off', async () => {
    await using visited = await visit('/toolhive/troubleshooting', { viewport });

    const widths = await visited.page
      .locator('.theme-code-block.language-text:not(.text-table) pre')
      .evaluateAll((all) => all.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth));

    expect(widths.length).toBeGreaterThan(20);
    expect(Math.max(...widths)).toBeLessThanOrEqual(0);
  });
});

test('columns of an output stay below their heads, because tables scroll instead', async () => {
  await using visited = await visit('/toolhive/guides-cli/registry', { viewport: sizes[1]! });

  const tables = await visited.page
    .locator('.text-table pre code')
    .evaluateAll((all) => all.map((one) => getComputedStyle(one).whiteSpace));

  expect(tables.length).toBeGreaterThan(1);
  expect(new Set(tables)).toEqual(new Set(['pre']));
});

test('the cards of the home page stand in one line', async () => {
  await using visited = await visit('/', { viewport: sizes[0]! });

  const tops = await visited.page
    .locator('section[aria-labelledby="ways"] h3')
    .evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().top)));

  expect(tops).toHaveLength(3);
  expect(new Set(tops).size).toBe(1);
});

test('no two labels of a diagram overlap', async () => {
  const files = await Array.fromAsync(glob('*.svg', { cwd: diagramFolder }));
  await using visited = await visit('/theme-preview');
  const overlapping: string[] = [];
  for (const file of files) {
    const drawing = await readFile(join(diagramFolder, file), 'utf8');
    const found = await visited.page.evaluate((svg) => {
      document.body.innerHTML = svg;
      const labels = [...document.querySelectorAll('svg text')]
        .filter((one) => one.textContent.trim() !== '')
        .map((one) => ({ text: one.textContent, box: one.getBoundingClientRect() }));
      return labels.flatMap((one, index) =>
        labels
          .slice(index + 1)
          .filter(
            ({ box }) =>
              one.box.left < box.right - 1 &&
              box.left < one.box.right - 1 &&
              one.box.top < box.bottom - 1 &&
              box.top < one.box.bottom - 1,
          )
          .map(({ text }) => `${one.text} over ${text}`),
      );
    }, drawing);
    overlapping.push(...found.map((text) => `${file}: ${text}`));
  }

  expect(files.length).toBeGreaterThan(10);
  expect(overlapping).toEqual([]);
});
