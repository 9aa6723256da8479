import type { PrismTheme } from 'prism-react-renderer';

/** The kinds of words in code. `css/code.css` has a colour for each in both modes. */
const kinds = {
  comment: ['comment', 'prolog', 'doctype', 'cdata', 'shebang'],
  string: ['string', 'char', 'attr-value', 'inserted', 'regex', 'url'],
  keyword: ['keyword', 'operator', 'atrule', 'important', 'selector', 'builtin'],
  name: ['function', 'class-name', 'tag', 'maybe-class-name'],
  property: ['property', 'attr-name', 'key', 'parameter', 'variable', 'assign-left', 'environment'],
  value: ['number', 'boolean', 'constant', 'symbol', 'null'],
  quiet: ['punctuation', 'namespace'],
  removed: ['deleted'],
};

/**
 * The theme of code. It contains variables instead of colors, so that a page has the right colors in either mode before
 * any script runs.
 */
export const highlighting: PrismTheme = {
  plain: { color: 'var(--code-plain)', backgroundColor: 'var(--code-background)' },
  styles: Object.entries(kinds).map(([kind, types]) => ({
    types,
    style: { color: `var(--code-${kind})`, ...(kind === 'comment' ? { fontStyle: 'italic' } : {}) },
  })),
};
