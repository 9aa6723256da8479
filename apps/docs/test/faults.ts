import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults, ElementContext, RunOptions } from 'axe-core';
import type { Page } from 'playwright-core';

/** The script of axe. `faults` adds the script to pages that don't have it. */
export const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Scope {
  /** The part of the page to check, as a selector. By default, the whole page. */
  within?: string;
  /** The parts of the page to leave out, as selectors. */
  without?: readonly string[];
}

/** The violations that axe finds in each color mode, one line each. */
export async function faults(
  page: Page,
  { modes = ['dark', 'light'], ...scope }: Scope & { modes?: readonly string[] } = {},
): Promise<string[]> {
  const found: string[] = [];
  for (const [index, mode] of modes.entries()) {
    await page.evaluate(async (theme) => {
      document.documentElement.dataset['theme'] = theme;
      await Promise.all(document.getAnimations().map(({ finished }) => finished.catch(() => undefined)));
    }, mode);
    const violations = await faultsInMode(page, { ...scope, onlyColors: index > 0 });
    found.push(...violations.map((violation) => `${mode} ${violation}`));
  }
  await page.evaluate((mode) => (document.documentElement.dataset['theme'] = mode), modes[0]);
  return found;
}

/**
 * The violations in the current color mode. `onlyColors` checks only the rules that depend on the mode. The rules about
 * colors are slow, so they run on one element of each kind: elements with the same tags, classes, and states around them
 * have the same colors.
 */
export async function faultsInMode(
  page: Page,
  { within = 'html', without = [], onlyColors }: Scope & { onlyColors: boolean },
): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe);
  return page.evaluate(
    async ([selector, exclude, isShort]) => {
      const { axe: api } = globalThis as unknown as {
        axe: { run: (where: ElementContext, options: RunOptions) => Promise<AxeResults> };
      };
      const colorRules = ['color-contrast', 'link-in-text-block'];
      const root = document.querySelector(selector);
      if (root === null) throw new Error(`${selector} not found`);
      const runs: [ElementContext, RunOptions][] = [
        [
          { include: oneOfEachKind(root), exclude: [...exclude] },
          { runOnly: { type: 'rule', values: colorRules } },
        ],
      ];
      if (!isShort) {
        const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
        const others = Object.fromEntries(colorRules.map((rule) => [rule, { enabled: false }]));
        runs.push([
          { include: [root], exclude: [...exclude] },
          { runOnly: { type: 'tag', values: tags }, rules: others },
        ]);
      }
      const found: string[] = [];
      for (const [where, options] of runs) {
        const { violations } = await api.run(where, { ...options, resultTypes: ['violations'] });
        for (const { id, nodes } of violations)
          for (const { html, failureSummary } of nodes)
            found.push(`${id}: ${html.slice(0, 160)} ${failureSummary ?? ''}`);
      }
      return found;

      function oneOfEachKind(part: Element): Element[] {
        const kinds = new Map<Element, string>();
        const kindOf = (element: Element): string => {
          const known = kinds.get(element);
          if (known !== undefined) return known;
          const states = ['class', 'style', 'open', 'disabled', 'aria-current', 'aria-selected'];
          const own = states.map((name) => element.getAttribute(name) ?? '').join('|');
          const row = element instanceof HTMLTableRowElement ? element.rowIndex % 2 : ''; // tables have stripes
          const above = element.parentElement === null ? '' : kindOf(element.parentElement);
          const kind = `${above}>${element.tagName}${row}|${own}`;
          kinds.set(element, kind);
          return kind;
        };
        const chosen = new Map<string, Element>();
        const add = (element: Element): void => {
          const kind = kindOf(element);
          if (!chosen.has(kind)) chosen.set(kind, element);
        };
        const texts = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
        for (let text = texts.nextNode(); text !== null; text = texts.nextNode())
          if (text.textContent?.trim() && text.parentElement !== null) add(text.parentElement);
        for (const field of part.querySelectorAll('input, select, textarea')) add(field);
        return [...chosen.values()];
      }
    },
    [within, without, onlyColors] as const,
  );
}
