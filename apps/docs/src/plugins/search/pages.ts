import { defaultTreeAdapter as tree, parse, type DefaultTreeAdapterTypes } from 'parse5';
import type { IndexedPage, IndexedSection } from '../../search/records.ts';

type Node = DefaultTreeAdapterTypes.ChildNode;
type Parent = DefaultTreeAdapterTypes.ParentNode;
type Element = DefaultTreeAdapterTypes.Element;

/** Longer sections are truncated, because their subject comes first and every reader downloads the index. */
const longestText = 420;

/** The searchable content of a built page. Undefined if the page excludes itself or has no text. */
export function readPage(html: string, url: string): IndexedPage | undefined {
  const document = parse(html);
  const meta = (name: string): string | undefined => {
    const found = first(document, (one) => one.tagName === 'meta' && attribute(one, 'name') === name);
    return found && attribute(found, 'content');
  };
  if (meta('robots')?.includes('noindex') === true) return undefined;
  const content =
    first(document, (one) => hasClass(one, 'theme-doc-markdown')) ??
    first(document, (one) => one.tagName === 'main');
  if (content === undefined) return undefined;
  const sections = sectionsOf(content);
  if (sections.length === 0) return undefined;
  const keywords = meta('keywords');
  return {
    url,
    area: areaOf(document, url),
    language: meta('docsearch:language') ?? 'en',
    tag: meta('docsearch:docusaurus_tag') ?? 'default',
    about: meta('description') ?? '',
    ...(keywords !== undefined && { keywords }),
    sections,
  };
}

/** The top sidebar category of the page. */
function areaOf(document: Parent, url: string): string {
  if (url.includes('/reference/')) return 'References';
  const crumbs = all(document, (one) => hasClass(one, 'breadcrumbs__item')).map((one) => textOf([one]));
  const [area] = crumbs.filter((crumb) => crumb !== ''); // the link to the home page is a picture
  return crumbs.length > 2 && area !== undefined ? area : 'Documentation';
}

/** One section for each heading that can be linked to. */
function sectionsOf(content: Parent): IndexedSection[] {
  const sections: OpenSection[] = [];
  const read = (node: Node, isLinked: boolean): void => {
    const open = sections.at(-1);
    if (tree.isTextNode(node)) {
      open?.words.push(node.value);
      if (open !== undefined && node.value.trim() !== '') open.hasOnlyLinks &&= isLinked;
      return;
    }
    if (!tree.isElementNode(node) || isSkipped(node)) return;
    if (node.tagName === 'details' && open?.anchor === troubleshooting) return;
    const level = headingLevel(node);
    const anchor = level === undefined ? undefined : anchorOf(node);
    if (level !== undefined && (level === 1 || anchor !== undefined)) {
      sections.push({
        level,
        anchor: level === 1 ? '' : (anchor ?? ''),
        title: textOf([node]),
        words: [],
        hasOnlyLinks: true,
      });
      return;
    }
    if (!isInline(node)) open?.words.push(' ');
    for (const child of node.childNodes) read(child, isLinked || node.tagName === 'a');
    if (!isInline(node)) sections.at(-1)?.words.push(' ');
  };
  for (const child of content.childNodes) read(child, false);
  return sections.flatMap(({ words, hasOnlyLinks, ...section }) => {
    const text = cut(tidy(words.join('')));
    // Lists of links are not searchable, because the target pages are.
    return hasOnlyLinks && text !== '' && section.level > 1 ? [] : [{ ...section, text }];
  });
}

/** A section during parsing. */
interface OpenSection extends Omit<IndexedSection, 'text'> {
  words: string[];
  /** Whether the section contains only links so far. */
  hasOnlyLinks: boolean;
}

/** Elements that are excluded from search, such as code for copying and parts of the frame. */
const unsearched = 'data-unsearched';

/** The section of a guide whose symptoms are searched on the page that lists all of them. */
const troubleshooting = 'troubleshooting';

/** The ID of the heading, or of the section that it opens. */
function anchorOf(heading: Element): string | undefined {
  const own = attribute(heading, 'id');
  if (own !== undefined) return own;
  const around = heading.parentNode;
  return around !== null && tree.isElementNode(around) && around.tagName === 'section'
    ? attribute(around, 'id')
    : undefined;
}

function headingLevel({ tagName }: Element): number | undefined {
  return /^h[1-6]$/.test(tagName) ? Number(tagName[1]) : undefined;
}

/** Elements without text for readers: controls, pictures, table headings, and links next to headings. */
function isSkipped(node: Element): boolean {
  return (
    ['script', 'style', 'svg', 'button', 'nav', 'select', 'template', 'thead'].includes(node.tagName) ||
    hasClass(node, 'hash-link') ||
    attribute(node, unsearched) !== undefined ||
    attribute(node, 'aria-hidden') === 'true'
  );
}

function isInline({ tagName }: Element): boolean {
  return ['a', 'b', 'code', 'em', 'i', 'kbd', 'mark', 'span', 'strong', 'var'].includes(tagName);
}

function textOf(nodes: readonly Node[]): string {
  const read = (node: Node): string => {
    if (tree.isTextNode(node)) return node.value;
    if (!tree.isElementNode(node) || isSkipped(node)) return '';
    const text = node.childNodes.map(read).join('');
    return isInline(node) ? text : ` ${text} `;
  };
  return tidy(nodes.map(read).join(''));
}

/** Without zero-width spaces, which make places to break a line, and with one space for any number of others. */
function tidy(text: string): string {
  return text
    .replaceAll(/[\u200B\uFEFF]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

function cut(text: string): string {
  if (text.length <= longestText) return text;
  const end = text.lastIndexOf(' ', longestText);
  return text.slice(0, end > 0 ? end : longestText);
}

function attribute(node: Element, name: string): string | undefined {
  return node.attrs.find((one) => one.name === name)?.value;
}

function hasClass(node: Element, name: string): boolean {
  return attribute(node, 'class')?.split(/\s+/).includes(name) ?? false;
}

function first(node: Parent, isIt: (one: Element) => boolean): Element | undefined {
  for (const child of node.childNodes) {
    if (!tree.isElementNode(child)) continue;
    const found = isIt(child) ? child : first(child, isIt);
    if (found !== undefined) return found;
  }
  return undefined;
}

function all(node: Parent, isIt: (one: Element) => boolean): Element[] {
  return node.childNodes
    .filter((child) => tree.isElementNode(child))
    .flatMap((child) => [...(isIt(child) ? [child] : []), ...all(child, isIt)]);
}
