import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults, ElementContext, RunOptions, Spec } from 'axe-core';
import type { Page } from 'playwright-core';

/** The script of axe. `faults` adds the script to pages that don't have it. */
export const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Scope {
  /** The part of the page to check, as a selector. By default, the whole page. */
  within?: string;
  /** The parts of the page to leave out, as selectors. */
  without?: readonly string[];
}

/** All rules, those that depend on the color mode, or those that don't. */
type Rules = 'all' | 'colors' | 'words';

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
    const violations = await faultsInMode(page, { ...scope, rules: index > 0 ? 'colors' : 'all' });
    found.push(...violations.map((violation) => `${mode} ${violation}`));
  }
  await page.evaluate((mode) => (document.documentElement.dataset['theme'] = mode), modes[0]);
  return found;
}

/**
 * The violations in the current color mode. The contrast of colors is slow to judge, so one element of each kind is
 * judged: elements with the same tags, classes, and states around them have the same colors. The chosen elements are
 * marked, because axe judges all rules in one run then, and because axe compares each element with each included part of
 * the page.
 */
export async function faultsInMode(
  page: Page,
  { within = 'html', without = [], rules }: Scope & { rules: Rules },
): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe);
  return page.evaluate(
    async ([selector, exclude, chosen]) => {
      const { axe: api } = globalThis as unknown as {
        axe: {
          configure: (spec: Spec) => void;
          run: (where: ElementContext, options: RunOptions) => Promise<AxeResults>;
        };
      };
      const root = document.querySelector(selector);
      if (root === null) throw new Error(`${selector} not found`);
      const mark = 'data-judged';
      for (const element of document.querySelectorAll(`[${mark}]`)) element.removeAttribute(mark);
      if (chosen !== 'words') for (const element of oneOfEachKind(root)) element.setAttribute(mark, '');
      api.configure({ rules: [{ id: 'color-contrast', selector: `[${mark}]` }] });
      const ofColors = ['color-contrast', 'link-in-text-block'];
      const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
      const { violations } = await api.run(
        { include: [root], exclude: [...exclude] },
        {
          runOnly: chosen === 'colors' ? { type: 'rule', values: ofColors } : { type: 'tag', values: tags },
          rules:
            chosen === 'words' ? Object.fromEntries(ofColors.map((rule) => [rule, { enabled: false }])) : {},
          resultTypes: ['violations'],
        },
      );
      return violations.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary ?? ''}`),
      );

      function oneOfEachKind(part: Element): Element[] {
        const kinds = new Map<Element, string>();
        const kindOf = (element: Element): string => {
          const known = kinds.get(element);
          if (known !== undefined) return known;
          const states = ['class', 'style', 'open', 'hidden', 'disabled', 'aria-current', 'aria-selected'];
          const own = states.map((name) => element.getAttribute(name) ?? 'none').join('|');
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
    [within, without, rules] as const,
  );
}
