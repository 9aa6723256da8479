import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds on the page as it is now, by all its rules in the first of the modes, in others by those of colours. */
export async function faults(page: Page, modes: readonly string[] = ['dark', 'light']): Promise<string[]> {
  await page.evaluate(axe);
  const found: string[] = [];
  for (const mode of modes) {
    const { violations } = await page.evaluate(
      async ([theme, isFirst]) => {
        document.documentElement.dataset['theme'] = theme;
        await Promise.all(document.getAnimations().map(({ finished }) => finished.catch(() => undefined)));
        const { axe: api } = globalThis as unknown as {
          axe: { run: (where: Document, options: object) => Promise<AxeResults> };
        };
        const all = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
        const runOnly = isFirst
          ? { type: 'tag', values: all }
          : { type: 'rule', values: ['color-contrast', 'link-in-text-block'] };
        return api.run(document, { runOnly, resultTypes: ['violations'] });
      },
      [mode, mode === modes[0]] as const,
    );
    found.push(...violations.map(({ id, nodes }) => `${mode} ${id}: ${nodes[0]?.html.slice(0, 200)}`));
  }
  await page.evaluate((mode) => (document.documentElement.dataset['theme'] = mode), modes[0]);
  return found;
}
