import { readFile } from 'node:fs/promises';
import { parse } from 'parse5';
import type { DefaultTreeAdapterTypes } from 'parse5';
import { siteFolder } from '../../../scripts/build-docs.ts';

type Element = DefaultTreeAdapterTypes.Element;

/** The built HTML of a page. */
export interface BuiltPage {
  route: string;
  /** The elements of its content, in their order. */
  elements: Element[];
  /** The kinds of elements of its content: tag, classes, and role, with those of the two elements around. */
  kinds: ReadonlySet<string>;
}

/** How many elements around an element make a difference for its colors and rules. */
const around = 2;

export async function readPage(route: string): Promise<BuiltPage> {
  const page = { route, elements: [] as Element[], kinds: new Set<string>() };
  collect(parse(await readFile(`${siteFolder}${route}/index.html`, 'utf8')), [], page);
  return page;
}

function collect(
  node: DefaultTreeAdapterTypes.ParentNode,
  chain: readonly string[],
  page: { elements: Element[]; kinds: Set<string> },
): void {
  for (const child of node.childNodes) {
    if (!('tagName' in child)) continue;
    const isContent = chain.length > 0 || child.tagName === 'main';
    const inside = isContent ? [...chain, kindOf(child)].slice(-1 - around) : [];
    if (isContent) {
      page.elements.push(child);
      page.kinds.add(inside.join('>'));
    }
    collect(child, inside, page);
  }
}

function kindOf(element: Element): string {
  return [element.tagName, attribute(element, 'class'), attribute(element, 'role')].join(' ');
}

function attribute({ attrs }: Element, name: string): string | undefined {
  return attrs.find((each) => each.name === name)?.value;
}

/** The fewest pages, about, that together have every kind of element. */
export function pagesOfAllKinds(pages: readonly BuiltPage[]): Set<string> {
  const missing = new Set(pages.flatMap(({ kinds }) => [...kinds]));
  const chosen = new Set<string>();
  while (missing.size > 0) {
    const adds = ({ kinds }: BuiltPage): number => missing.intersection(kinds).size;
    const best = pages.reduce((one, other) => (adds(other) > adds(one) ? other : one));
    chosen.add(best.route);
    for (const kind of best.kinds) missing.delete(kind);
  }
  return chosen;
}

/** The faults of a page that come from its words. All others come with its kinds of elements. */
export function faultsOfWords({ route, elements }: BuiltPage): string[] {
  const ids = elements.flatMap((element) => attribute(element, 'id') ?? []);
  const levels = elements
    .filter(({ tagName }) => /^h[1-6]$/.test(tagName))
    .map(({ tagName }) => Number(tagName.slice(1)));
  const nameless = elements.filter(
    (element) => ['a', 'button', 'h1', 'h2', 'h3', 'h4', 'th'].includes(element.tagName) && !nameOf(element),
  );
  const found = [
    ...ids.filter((id, at) => ids.indexOf(id) !== at).map((id) => `two elements have the ID ${id}`),
    ...levels.flatMap((level, at) =>
      at > 0 && level > (levels[at - 1] ?? 0) + 1 ? [`a heading of level ${level} skips a level`] : [],
    ),
    ...(levels.filter((level) => level === 1).length === 1 ? [] : ['the page has not one title']),
    ...nameless.map(({ tagName }) => `a ${tagName} has no name`),
  ];
  return found.map((fault) => `${route}: ${fault}`);
}

/** The text that assistive technology reads for an element. */
function nameOf(element: Element): string {
  const own = attribute(element, 'aria-label') ?? attribute(element, 'alt');
  if (own !== undefined) return own.trim();
  return element.childNodes
    .map((child) => ('tagName' in child ? nameOf(child) : 'value' in child ? child.value : ''))
    .join('')
    .trim();
}
