import rehypeParse from 'rehype-parse';
import rehypeRemark from 'rehype-remark';
import remarkGfm from 'remark-gfm';
import remarkStringify from 'remark-stringify';
import { unified } from 'unified';

/** A node of the HTML page. */
interface Part {
  type: string;
  tagName?: string;
  value?: string;
  properties?: Record<string, unknown>;
  children?: Part[];
}

const converter = unified()
  .use(rehypeParse)
  .use(() => (tree) => simplify(tree))
  .use(rehypeRemark)
  .use(remarkGfm)
  .use(remarkStringify, { bullet: '-', emphasis: '_', rule: '-' });

/** Converts a built page to Markdown: every tab and panel, without the frame of the site. */
export async function markdownOf(html: string): Promise<string> {
  return String(await converter.process(html)).trim();
}

/** Reduces a page to elements that exist in Markdown. */
function simplify(page: Part): void {
  const content =
    find(page, (part) => hasClass(part, 'theme-doc-markdown')) ??
    find(page, ({ tagName }) => tagName === 'main');
  page.children = content === undefined ? [] : [cleaned(content)];
}

function cleaned(part: Part): Part {
  if (part.children === undefined) return part;
  const kept = part.children.filter((child) => !isFrame(child));
  if (hasClass(part, 'tabs-container')) return withLabels({ ...part, children: kept });
  if (part.tagName === 'pre') return code(part);
  if (part.tagName === 'a' && hasClass(part, 'card')) return card(part);
  return { ...part, children: kept.map(cleaned) };
}

/** Buttons, anchors, and pictures without meaning for readers of text. */
function isFrame(part: Part): boolean {
  return (
    part.type === 'comment' ||
    ['button', 'svg', 'script', 'style', 'nav', 'footer'].includes(part.tagName ?? '') ||
    hasClass(part, 'hash-link') ||
    part.properties?.['ariaHidden'] === 'true'
  );
}

/** Tabs in sequence, each with its label. */
function withLabels({ children = [], ...part }: Part): Part {
  const labels = textsOf(find({ type: 'root', children }, (one) => one.properties?.['role'] === 'tablist'));
  const panels = findAll({ type: 'root', children }, (one) => one.properties?.['role'] === 'tabpanel');
  return {
    ...part,
    children: panels.flatMap((panel, index) => [
      element('p', [element('strong', [{ type: 'text', value: labels[index] ?? '' }])]),
      element('div', cleaned(panel).children ?? []),
    ]),
  };
}

/** A card on an index page, as a list item with the description of the link target. */
function card(part: Part): Part {
  const [title, ...rest] = (part.children ?? []).map((child) =>
    linesOf(child).replace(/^\p{So}\uFE0F?\s*/u, ''),
  );
  const link = element('a', [{ type: 'text', value: title ?? '' }], { href: part.properties?.['href'] });
  const description = { type: 'text', value: rest.length > 0 ? `: ${rest.join(' ')}` : '' };
  return element('ul', [element('li', [link, description])]);
}

/** Code as text. Its lines are elements, and the class of the surrounding element contains the language. */
function code(part: Part): Part {
  const language = classesOf(part).find((name) => name.startsWith('language-'));
  const text = { type: 'text', value: linesOf(part) };
  return element('pre', [element('code', [text], language === undefined ? {} : { className: [language] })]);
}

function linesOf(part: Part): string {
  if (part.tagName === 'br') return '\n';
  return (part.value ?? '') + (part.children ?? []).map(linesOf).join('');
}

function textsOf(list: Part | undefined): string[] {
  return (list?.children ?? []).filter(({ tagName }) => tagName !== undefined).map(linesOf);
}

function element(tagName: string, children: Part[], properties: Record<string, unknown> = {}): Part {
  return { type: 'element', tagName, properties, children };
}

function classesOf({ properties }: Part): string[] {
  const names = properties?.['className'];
  return Array.isArray(names) ? names.map(String) : [];
}

const hasClass = (part: Part, name: string): boolean => classesOf(part).includes(name);

function find(part: Part, isWanted: (part: Part) => boolean): Part | undefined {
  return findAll(part, isWanted)[0];
}

function findAll(part: Part, isWanted: (part: Part) => boolean): Part[] {
  if (isWanted(part)) return [part];
  return (part.children ?? []).flatMap((child) => findAll(child, isWanted));
}
